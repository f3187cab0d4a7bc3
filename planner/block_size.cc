#include "planner/block_size.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/checked.h"
#include "base/formula.h"
#include "planner/strategies.h"

namespace hybridkv {

namespace {

constexpr std::int64_t default_block_tokens = 16;

std::string with_declaration(const DeclaredBlocks& blocks, const DerivationLog& log) {
  const std::string rule = log.cite(RuleOf::blocks);
  return blocks.source.empty() ? rule : fmt::format("{}; kernel blocks: {}", rule, blocks.source);
}

/// C, mode all: every multiple of B is a checkpoint, so B is a multiple of the chunk of the scan.
std::int64_t checkpoint_unit(std::optional<std::int64_t> scan_chunk, std::int64_t grain, const EngineSpec& engine,
                             const DerivationLog& log) {
  const std::int64_t chunk = engine.mamba_block_size_tokens.value_or(scan_chunk.value_or(default_scan_chunk_tokens));
  const std::int64_t unit = checked_lcm(chunk, grain);
  const char* chunk_name = engine.mamba_block_size_tokens ? "user mamba block"
                           : scan_chunk                   ? "scan chunk"
                                                          : "scan chunk (the default: the family names none)";
  log.add([&] {
    return Decision{{"C", unit, "tokens"},
                    "C = lcm(scan chunk or user mamba block, A)",
                    {{chunk_name, chunk, "tokens"}, {"A", grain, "tokens"}},
                    log.cite(RuleOf::block_size)};
  });
  return unit;
}

/// C, of an engine that keeps states at multiples of a number of its own.
std::int64_t engine_checkpoints(const EngineSpec& engine, const DerivationLog& log) {
  const std::int64_t tokens = engine.mamba_block_size_tokens.value_or(*engine.rules->checkpoint_tokens);
  log.add([&] {
    return Decision{{"C", tokens, "tokens"},
                    engine.mamba_block_size_tokens
                        ? "as set by the user: a state is kept at every multiple, wherever chunks end"
                        : "the engine's own: a state is kept at every multiple, wherever chunks end",
                    {},
                    engine.mamba_block_size_tokens ? "engine.mamba_block_size_tokens"
                                                   : log.cite(rule_of(engine.strategy))};
  });
  return tokens;
}

/// B by a formula of the user's, which kernels and scans have to be able to take.
std::int64_t supposed_block_size(const BlockSizeInputs& inputs, const EngineSpec& engine, const DerivationLog& log) {
  const std::string_view key = "engine.what_if.block_formula";
  const std::string& formula = engine.what_if.block_formula;
  std::vector<FormulaSymbol> symbols{{"A", alignment_grain(engine, inputs, log)},
                                     {"M", inputs.state_bytes},
                                     {"N", inputs.pack_size},
                                     {"a1", inputs.bytes_per_token},
                                     {"k", inputs.checkpoint_tokens}};
  std::int64_t scan = 1;
  if (engine.cache_mode == CacheMode::all && inputs.state_bytes > 0) {
    scan = engine.mamba_block_size_tokens.value_or(inputs.scan_chunk_tokens.value_or(default_scan_chunk_tokens));
    symbols.push_back({"C", checkpoint_unit(inputs.scan_chunk_tokens, symbols.front().value, engine, log)});
  }
  std::int64_t block = 0;
  try {
    block = value_of_formula(formula, symbols);
  } catch (const FormulaError& error) {
    throw SpecError(std::string(key), error.what());
  }
  if (block < 1) throw SpecError(std::string(key), fmt::format("'{}' comes to {} tokens; take at least 1", formula,
                                                               block));
  const DeclaredBlocks kernel = declared_blocks(engine, inputs.latent);
  for (const auto& [unit, what] : {std::pair{kernel.listed.empty() ? kernel.smallest : 1, "the smallest kernel block"},
                                   {inputs.checkpoint_tokens, "the tokens at which scans export states"},
                                   {scan, "the chunk of the scan, which mode all keeps states at"}})
    if (block % unit != 0)
      throw SpecError(std::string(key), fmt::format("'{0}' comes to {1} tokens, no multiple of {2}, {3}; take {2} * "
                                                    "ceil(({0}) / {2})", formula, block, unit, what));
  log.add([&] {
    std::vector<Term> terms;
    for (const FormulaSymbol& symbol : used_symbols(formula, symbols)) {
      const std::string unit = symbol.name == "N" ? "" : symbol.name == "M" || symbol.name == "a1" ? "bytes" : "tokens";
      terms.push_back({std::string(symbol.name), symbol.value, unit});
    }
    return Decision{{"B", block, "tokens"}, "B = " + formula, std::move(terms), std::string(key)};
  });
  return block;
}

}  // namespace

std::int64_t exported_at(const RecurrentSpec& layer, const EngineSpec& engine) {
  // Releases whose blocks are no multiples of what scans export came before scans of gdn did.
  if (!std::holds_alternative<GdnSpec>(layer) || !engine.rules->aligns_to_checkpoints) return 1;
  const std::int64_t declared = engine.backend_profile ? facts_of(*engine.backend_profile).gdn_checkpoint_tokens : 1;
  return engine.checkpoint_alignment_tokens.value_or(declared);
}

DeclaredBlocks declared_blocks(const EngineSpec& engine, bool latent) {
  DeclaredBlocks blocks;
  if (engine.backend_profile) {
    const ProfileFacts& facts = facts_of(*engine.backend_profile);
    const KernelBlocks& declared = latent ? facts.latents : facts.attention;
    blocks = {declared.smallest, declared.listed, facts.backend};
  }
  if (engine.kernel_alignment_tokens) {
    blocks = {*engine.kernel_alignment_tokens, {}, "engine.kernel_alignment_tokens"};
  }
  if (!engine.kernel_block_sizes.empty()) {
    blocks.listed = engine.kernel_block_sizes;
    blocks.source = "engine.kernel_block_sizes";
  }
  if (!blocks.listed.empty())
    blocks.smallest = std::max(engine.kernel_alignment_tokens.value_or(1),
                               *std::min_element(blocks.listed.begin(), blocks.listed.end()));
  return blocks;
}

std::int64_t checkpoint_tokens(const ModelSpec& model, const EngineSpec& engine) {
  if (!engine.rules->aligns_to_checkpoints || engine.cache_mode != CacheMode::align) return 1;
  std::int64_t common = 1;
  for (const LayerSpec& layer : model.layers) {
    if (!layer.recurrent) continue;
    const std::int64_t of_layer = exported_at(*layer.recurrent, engine);
    if (of_layer == 1) return 1;
    common = checked_lcm(common, of_layer);
  }
  return common;
}

std::int64_t alignment_grain(const EngineSpec& engine, const BlockSizeInputs& inputs, const DerivationLog& log) {
  const DeclaredBlocks kernel = declared_blocks(engine, inputs.latent);
  const std::int64_t user = engine.block_size_tokens.value_or(default_block_tokens);
  const bool is_latent_hybrid = inputs.latent && inputs.state_bytes > 0;
  const std::int64_t latent = is_latent_hybrid ? engine.rules->latent_hybrid_grain : 1;
  const std::int64_t floor = std::max({kernel.smallest, user, latent});
  const std::int64_t grain = checked_lcm(floor, inputs.checkpoint_tokens);
  if (inputs.checkpoint_tokens > 1)
    log.add([&] {
      return Decision{{"k", inputs.checkpoint_tokens, "tokens"},
                      "the lcm of the multiples of tokens at which the scans of all layers export states",
                      {},
                      engine.checkpoint_alignment_tokens || !engine.backend_profile
                          ? "engine.checkpoint_alignment_tokens"
                          : fmt::format("scans of profile {}", to_string(*engine.backend_profile))};
    });
  log.add([&] {
    std::vector<Term> terms{{"smallest kernel block", kernel.smallest, "tokens"},
                            {engine.block_size_tokens ? "user block size" : "default block size", user, "tokens"}};
    std::string rule = "max(smallest kernel block, user block size or 16";
    if (latent > 1) rule += ", grain of latents", terms.push_back({"grain of latents", latent, "tokens"});
    rule += ")";
    if (inputs.checkpoint_tokens > 1) {
      rule = "lcm(" + rule + ", k), as the scans export states at multiples of k";
      terms.push_back({"k", inputs.checkpoint_tokens, "tokens"});
    }
    return Decision{{"A", grain, "tokens"}, "A = " + rule, std::move(terms), with_declaration(kernel, log)};
  });
  return grain;
}

std::int64_t state_grid(std::optional<std::int64_t> scan_chunk, std::int64_t grain, const EngineSpec& engine,
                        const DerivationLog& log) {
  if (engine.cache_mode == CacheMode::none) return grain;
  if (engine.rules->checkpoint_tokens) return engine_checkpoints(engine, log);
  if (engine.cache_mode == CacheMode::all) return checkpoint_unit(scan_chunk, grain, engine, log);
  const std::int64_t asked = engine.mamba_block_size_tokens.value_or(grain);
  const std::int64_t grid = checked_lcm(asked, grain);
  log.add([&] {
    return Decision{
        {"C", grid, "tokens"},
        engine.mamba_block_size_tokens ? "C = lcm(user mamba block, A)" : "C = A: a chunk ends on any block",
        {{engine.mamba_block_size_tokens ? "user mamba block" : "A", asked, "tokens"}, {"A", grain, "tokens"}},
        log.cite(RuleOf::small_pages)};
  });
  return grid;
}

std::int64_t attention_block_size(const BlockSizeInputs& inputs, const EngineSpec& engine, const DerivationLog& log) {
  if (!engine.what_if.block_formula.empty()) return supposed_block_size(inputs, engine, log);
  const auto decide = [&](std::int64_t block, std::string rule, std::vector<Term> terms) {
    log.add([&] {
      return Decision{{"B", block, "tokens"}, std::move(rule), std::move(terms), log.cite(RuleOf::block_size)};
    });
    return block;
  };
  const bool every_boundary = engine.cache_mode == CacheMode::all;
  if (inputs.bytes_per_token == 0 && inputs.state_bytes > 0 && !every_boundary) {
    const char* const asked = engine.block_size_tokens ? "user block size" : "default block size";
    const std::int64_t block = engine.block_size_tokens.value_or(default_block_tokens);
    return decide(block, fmt::format("B = {}: without attention no kernel asks for more", asked),
                  {{asked, block, "tokens"}});
  }
  const std::int64_t grain = alignment_grain(engine, inputs, log);
  if (inputs.state_bytes == 0) return decide(grain, "B = A: the model keeps no state", {{"A", grain, "tokens"}});

  const std::int64_t unit = every_boundary ? checkpoint_unit(inputs.scan_chunk_tokens, grain, engine, log) : grain;
  const Term unit_term{every_boundary ? "C" : "A", unit, "tokens"};
  const std::int64_t page_per_token = Checked(inputs.pack_size) * inputs.bytes_per_token;
  if (page_per_token == 0) return decide(unit, "B = " + unit_term.symbol + ": the model has no attention", {unit_term});

  const std::vector<Term> terms{unit_term,
                                {"M", inputs.state_bytes, "bytes"},
                                {"N", inputs.pack_size, ""},
                                {"a1", inputs.bytes_per_token, "bytes"}};
  if (every_boundary)
    return decide(round_up(ceil_div(inputs.state_bytes, page_per_token), unit), "B = C * ceil(ceil(M / (N * a1)) / C)",
                  terms);
  const std::int64_t block = Checked(unit) * ceil_div(inputs.state_bytes, Checked(unit) * page_per_token);
  const std::int64_t kernel = declared_blocks(engine, inputs.latent).smallest;
  if (!engine.rules->aligns_to_checkpoints || block % kernel == 0)
    return decide(block, "B = A * ceil(M / (A * N * a1))", terms);
  std::vector<Term> with_kernel = terms;
  with_kernel.push_back({"smallest kernel block", kernel, "tokens"});
  return decide(round_up(block, kernel),
                "B = smallest kernel block * ceil(A * ceil(M / (A * N * a1)) / smallest kernel block)",
                std::move(with_kernel));
}

std::int64_t window_block_size(std::int64_t block_size_tokens, const EngineSpec& engine, const DerivationLog& log) {
  const DeclaredBlocks declared = declared_blocks(engine, false);
  if (declared.listed.empty()) return block_size_tokens;
  std::int64_t best = 0;
  for (const std::int64_t size : declared.listed)
    if (size <= block_size_tokens) best = std::max(best, size);
  const std::int64_t own = best > 0 ? best : declared.smallest;
  log.add([&] {
    return Decision{{"w", own, "tokens"},
                    "w = the largest supported kernel block of at most B: a sliding window begins with a block of its "
                    "own",
                    {{"B", block_size_tokens, "tokens"},
                     {"supported", fmt::format("{}", fmt::join(declared.listed, ", ")), "tokens"}},
                    with_declaration(declared, log)};
  });
  return own;
}

std::int64_t kernel_block_size(std::int64_t block_size_tokens, bool latent, const EngineSpec& engine,
                               const DerivationLog& log) {
  if (engine.rules->tree_pools || keeps_tensors_apart(engine.strategy)) {
    log.add([&] {
      return Decision{{"b", block_size_tokens, "tokens"}, "b = B: kernels go by the pages of the pool",
                      {{"B", block_size_tokens, "tokens"}}, std::string(engine.rules->title)};
    });
    return block_size_tokens;
  }
  const DeclaredBlocks declared = declared_blocks(engine, latent);
  if (declared.listed.empty()) {
    if (block_size_tokens % declared.smallest != 0)
      throw SpecError(engine.kernel_alignment_tokens ? "engine.kernel_alignment_tokens" : "engine.block_size_tokens",
                      fmt::format("the block of {} tokens is no multiple of the smallest kernel block of {}; take a "
                                  "user block size that is a multiple of {}",
                                  block_size_tokens, declared.smallest, declared.smallest));
    log.add([&] {
      return Decision{{"b", block_size_tokens, "tokens"},
                      "b = B: the backend supports every multiple of its smallest kernel block",
                      {{"B", block_size_tokens, "tokens"},
                       {"smallest kernel block", declared.smallest, "tokens"}},
                      with_declaration(declared, log)};
    });
    return block_size_tokens;
  }
  std::int64_t best = 0;
  for (std::int64_t size : declared.listed)
    if (block_size_tokens % size == 0) best = std::max(best, size);
  if (best == 0)
    throw SpecError("engine.kernel_block_sizes",
                    fmt::format("none of the supported kernel blocks ({}) divides the block of {} tokens; add a size "
                                "that does ({} would), or set engine.block_size_tokens to a multiple of one of them",
                                fmt::join(declared.listed, ", "), block_size_tokens, block_size_tokens));
  log.add([&] {
    return Decision{{"b", best, "tokens"},
                    "b = the largest supported kernel block that divides B",
                    {{"B", block_size_tokens, "tokens"},
                     {"supported", fmt::format("{}", fmt::join(declared.listed, ", ")), "tokens"}},
                    with_declaration(declared, log)};
  });
  return best;
}

}  // namespace hybridkv
