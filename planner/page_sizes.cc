#include "planner/page_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "base/checked.h"
#include "base/divisors.h"
#include "planner/block_size.h"
#include "planner/indexers.h"
#include "planner/strategies.h"

namespace hybridkv {

namespace {

/// The chunk that every scan of the model can start on: the least common multiple of the layers' own, empty where none
/// names one.
std::optional<std::int64_t> model_scan_chunk(const ModelSpec& model) {
  std::int64_t common = 1;
  bool named = false;
  for (const LayerSpec& layer : model.layers) {
    if (!layer.recurrent) continue;
    const std::optional<std::int64_t> chunk = scan_chunk_tokens(*layer.recurrent);
    named = named || chunk;
    common = checked_lcm(common, chunk.value_or(default_scan_chunk_tokens));
  }
  return named ? std::optional(common) : std::nullopt;
}

bool keeps_hidden_states(const SpecPlan& spec) { return spec.attention && spec.auxiliary; }

BlockSizeInputs block_inputs(std::span<const SpecPlan> specs, const ModelSpec& model, const EngineSpec& engine) {
  BlockSizeInputs inputs;
  inputs.pack_size = engine.attention_pack_size;
  inputs.scan_chunk_tokens = model_scan_chunk(model);
  inputs.checkpoint_tokens = checkpoint_tokens(model, engine);
  const auto num_layers = static_cast<std::int64_t>(model.layers.size());
  std::int64_t of_helpers = 0;  // drafts and MTP layers of their own kind
  for (const SpecPlan& spec : specs) {
    if (spec.auxiliary) continue;
    if (spec.state) inputs.state_bytes = std::max(inputs.state_bytes, spec.state->bytes);
    const bool own = !spec.draft && spec.layers.front() < num_layers;
    inputs.latent = inputs.latent || (own && spec.attention && spec.attention->kind == AttentionKind::mla);
    std::int64_t& largest = own ? inputs.bytes_per_token : of_helpers;
    largest = std::max(largest, spec.bytes_per_token);
  }
  if (inputs.bytes_per_token == 0) inputs.bytes_per_token = of_helpers;
  return inputs;
}

std::string of_spec(const SpecPlan& spec) { return "of " + spec_label(spec); }

/// Does the layer begin with a block of its own, another one than B?
bool has_window_block(const SpecPlan& spec, const BlockSizes& blocks) {
  return blocks.window.value_or(blocks.attention) != blocks.attention && spec.is_packed() &&
         spec.attention->kind == AttentionKind::sliding_window;
}

/// B for attention, the checkpoint grid for states that are kept for prefixes; a state of mode none is the whole
/// request.
void set_blocks(SizedPages& sized, const BlockSizes& blocks, const EngineSpec& engine, std::int64_t longest) {
  for (SpecPlan& spec : sized.specs) {
    if (keeps_hidden_states(spec)) continue;
    const bool whole_sequence = spec.state && engine.cache_mode == CacheMode::none;
    spec.block_size_tokens = spec.ring_tokens > 0 ? spec.ring_tokens
                             : whole_sequence     ? longest
                             : spec.state         ? blocks.state
                             : has_window_block(spec, blocks) ? *blocks.window
                                                              : blocks.attention;
    if (spec.attention)
      spec.unpadded_page_bytes = Checked(spec.layers_per_page) * spec.block_size_tokens * spec.bytes_per_token;
  }
}

/// Gives attention whose page divides the largest page longer blocks, by as many times as its page goes into that one.
void grow_blocks(SizedPages& sized, const BlockSizes& blocks, std::int64_t largest_page, const DerivationLog& log) {
  for (SpecPlan& spec : sized.specs) {
    if (!spec.is_packed() || largest_page % spec.unpadded_page_bytes != 0) continue;
    const std::int64_t ratio = largest_page / spec.unpadded_page_bytes;
    if (ratio == 1) continue;
    const std::int64_t block = spec.block_size_tokens;
    const std::string_view symbol = has_window_block(spec, blocks) ? "w" : "B";
    log.add([&] {
      return Decision{{"block " + of_spec(spec), Checked(block) * ratio, "tokens"},
                      fmt::format("block = largest page / (N * a1): this spec's page of {} tokens divides the largest "
                                  "page", symbol),
                      {{"largest page", largest_page, "bytes"},
                       {"N", spec.layers_per_page, ""},
                       {"a1", spec.bytes_per_token, "bytes"},
                       {std::string(symbol), block, "tokens"}},
                      log.cite(RuleOf::grown_blocks)};
    });
    spec.block_size_tokens = Checked(block) * ratio;
    spec.unpadded_page_bytes = largest_page;
  }
}

void set_kernel_blocks(SizedPages& sized, const BlockSizes& blocks, const EngineSpec& engine,
                       const DerivationLog& log) {
  const std::int64_t block = blocks.attention;
  std::optional<std::int64_t> of_block;
  for (SpecPlan& spec : sized.specs) {
    if (spec.state) {
      spec.kernel_block_size_tokens = spec.block_size_tokens;
    } else if (spec.is_packed() && spec.block_size_tokens == block && !has_window_block(spec, blocks)) {
      if (!of_block) of_block = kernel_block_size(block, is_latent(spec.attention->kind), engine, log);
      spec.kernel_block_size_tokens = *of_block;
    } else if (spec.is_packed()) {
      Derivation grown;
      spec.kernel_block_size_tokens =
          kernel_block_size(spec.block_size_tokens, is_latent(spec.attention->kind), engine,
                            DerivationLog(grown, *engine.rules));
      grown.front().result.symbol = "kernel block " + of_spec(spec);
      log.add([&] { return grown.front(); });
    }
  }
}

/// The block that those of all attention are multiples of: B, or where windows keep a smaller one what divides both.
std::int64_t common_block(std::span<const SpecPlan> specs, std::int64_t block) {
  for (const SpecPlan& spec : specs)
    if (spec.is_packed()) block = std::gcd(block, spec.block_size_tokens);
  return block;
}

/// The largest divisor of the block that fits the page.
void size_auxiliary(SpecPlan& spec, std::int64_t block, std::int64_t page_bytes, const DerivationLog& log) {
  const std::int64_t most = Checked(page_bytes / spec.bytes_per_token) * spec.tokens_per_entry;
  if (most == 0)
    throw SpecError("engine.hidden_state_size", fmt::format("one token takes {} bytes, more than a page of {}",
                                                            spec.bytes_per_token, page_bytes));
  const std::int64_t divisor = largest_divisor_at_most(block, most);
  spec.block_size_tokens = spec.kernel_block_size_tokens = divisor;
  spec.unpadded_page_bytes = spec.bytes_of_tokens(divisor);
  log.add([&] {
    return Decision{{"block " + of_spec(spec), divisor, "tokens"},
                    "the largest divisor d of B with d * bytes per token <= P",
                    {{"B", block, "tokens"}, {"bytes per token", spec.bytes_per_token, "bytes"},
                     {"P", page_bytes, "bytes"}},
                    log.cite(RuleOf::groups)};
  });
}

/// Blocks that are B, or the whole sequence of a state that is kept for no prefix.
void derive_plain_blocks(const SizedPages& sized, const BlockSizes& blocks, const EngineSpec& engine,
                         const DerivationLog& log) {
  for (const SpecPlan& spec : sized.specs) {
    if (spec.ring_tokens > 0) continue;
    const bool whole_sequence = spec.state && engine.cache_mode == CacheMode::none;
    const bool plain = whole_sequence || spec.state ||
                       (spec.is_packed() && spec.block_size_tokens == blocks.attention &&
                        !has_window_block(spec, blocks));
    const bool own_grid = spec.state && !whole_sequence && blocks.state != blocks.attention;
    const Term own{"block", spec.block_size_tokens, "tokens"};
    if (plain)
      log.add([&] {
        return Decision{{"block " + of_spec(spec), spec.block_size_tokens, "tokens"},
                        whole_sequence ? "block = longest length: a state of mode none is that of the whole request"
                        : own_grid     ? "block = C: a checkpoint is kept at its multiples"
                                       : "block = B",
                        {{whole_sequence ? "longest length" : own_grid ? "C" : "B", spec.block_size_tokens, "tokens"}},
                        log.cite(RuleOf::blocks)};
      });
    if (spec.state || spec.auxiliary)
      log.add([&] {
        return Decision{{"kernel block " + of_spec(spec), spec.kernel_block_size_tokens, "tokens"},
                        "kernel block = block: no kernel splits it", {own}, log.cite(RuleOf::blocks)};
      });
    else if (plain)
      log.add([&] {
        return Decision{{"kernel block " + of_spec(spec), spec.kernel_block_size_tokens, "tokens"}, "kernel block = b",
                        {{"b", spec.kernel_block_size_tokens, "tokens"}}, log.cite(RuleOf::blocks)};
      });
    else if (has_window_block(spec, blocks) && spec.block_size_tokens == *blocks.window)
      log.add([&] {
        return Decision{{"block " + of_spec(spec), spec.block_size_tokens, "tokens"}, "block = w",
                        {{"w", *blocks.window, "tokens"}}, log.cite(RuleOf::blocks)};
      });
  }
}

Decision page_decision(const SizedPages& sized, StatePages states, const EngineSpec& engine, const DerivationLog& log) {
  std::vector<Term> pages;
  for (const SpecPlan& spec : sized.specs) {
    if (keeps_hidden_states(spec)) continue;
    if (spec.state && states == StatePages::split) continue;
    pages.push_back({(spec.state ? "M " : "N * block * a1 ") + of_spec(spec), spec.unpadded_page_bytes, "bytes"});
  }
  if (engine.page_alignment_bytes > 1) pages.push_back({"alignment", engine.page_alignment_bytes, "bytes"});
  const std::string what =
      states == StatePages::split ? "P = the largest page of attention" : "P = the largest unpadded page";
  return {{"P", sized.page_bytes, "bytes"},
          what + (engine.page_alignment_bytes > 1
                      ? ", rounded up to the alignment; every other page is padded to it"
                      : "; every other page is padded to it"),
          std::move(pages),
          states == StatePages::split ? "small pages, modelled" : log.cite(RuleOf::block_size)};
}

/// P: the largest page, as it is aligned, or a larger one that the user supposes.
void set_page(SizedPages& sized, StatePages states, const EngineSpec& engine, const DerivationLog& log) {
  const std::int64_t largest = sized.page_bytes;
  sized.page_bytes = engine.what_if.page_bytes.value_or(round_up(largest, engine.page_alignment_bytes));
  if (sized.page_bytes < largest)
    throw SpecError("engine.what_if.page_bytes",
                    fmt::format("is {}, and the largest page, unpadded, has {} bytes; take at least as many, or "
                                "smaller blocks by engine.what_if.block_formula", sized.page_bytes, largest));
  log.add([&] {
    Decision decision = page_decision(sized, states, engine, log);
    if (engine.what_if.page_bytes) {
      decision.rule = "P as supposed, at least the largest unpadded page; every page is padded to it";
      decision.source = "engine.what_if.page_bytes";
    }
    return decision;
  });
}

bool sizes_the_page(const SpecPlan& spec, StatePages states) {
  return states == StatePages::padded || spec.is_packed();
}

void set_padding(SizedPages& sized, const DerivationLog& log) {
  for (SpecPlan& spec : sized.specs) {
    const std::int64_t ids = ids_per_entry(spec, sized.page_bytes);
    const std::int64_t room = Checked(ids) * sized.page_bytes;
    spec.padding_percent = padding_percent(room, spec.unpadded_page_bytes);
    log.add([&] {
      std::vector<Term> inputs{{"P", sized.page_bytes, "bytes"}, {"unpadded", spec.unpadded_page_bytes, "bytes"}};
      if (ids > 1) inputs.insert(inputs.begin(), {"ids of an entry", ids, ""});
      return Decision{{"padding " + of_spec(spec), spec.padding_percent, "%"},
                      ids > 1 ? "padding = 100 * (ids of an entry * P - unpadded) / unpadded"
                              : "padding = 100 * (P - unpadded) / unpadded",
                      std::move(inputs), log.cite(RuleOf::blocks)};
    });
  }
}

}  // namespace

double padding_percent(std::int64_t room_bytes, std::int64_t unpadded_bytes) {
  return 100.0 * static_cast<double>(room_bytes - unpadded_bytes) / static_cast<double>(unpadded_bytes);
}

std::int64_t ids_per_entry(const SpecPlan& spec, std::int64_t page_bytes) {
  return ceil_div(spec.unpadded_page_bytes, page_bytes);
}

std::int64_t uniform_block_size(std::span<const SpecPlan> specs, const ModelSpec& model, const EngineSpec& engine,
                                const DerivationLog& log) {
  const std::int64_t block = attention_block_size(block_inputs(specs, model, engine), engine, log);
  if (block > largest_tokens)
    throw SpecError(engine.what_if.block_formula.empty() ? "engine.block_size_tokens" : "engine.what_if.block_formula",
                    fmt::format("the block comes to {} tokens, more than the {} that any length may have; take smaller "
                                "states, a smaller block or a larger attention_pack_size", block, largest_tokens));
  return block;
}

BlockSizes free_block_sizes(const ModelSpec& model, const EngineSpec& engine, const DerivationLog& log) {
  BlockSizes blocks;
  blocks.attention = alignment_grain(engine, {}, log);
  log.add([&] {
    return Decision{{"B", blocks.attention, "tokens"}, "B = A: no page has to hold a state",
                    {{"A", blocks.attention, "tokens"}}, log.cite(rule_of(engine.strategy))};
  });
  blocks.state = state_grid(model_scan_chunk(model), blocks.attention, engine, log);
  return blocks;
}

SizedPages size_pages(std::vector<SpecPlan> specs, const BlockSizes& blocks, StatePages states,
                      const EngineSpec& engine, const LimitsSpec& limits, const DerivationLog& log) {
  SizedPages sized{std::move(specs), 0};
  set_blocks(sized, blocks, engine, *std::max_element(limits.max_model_lens.begin(), limits.max_model_lens.end()));
  for (const SpecPlan& spec : sized.specs)
    if (sizes_the_page(spec, states)) sized.page_bytes = std::max(sized.page_bytes, spec.unpadded_page_bytes);
  grow_blocks(sized, blocks, sized.page_bytes, log);
  set_kernel_blocks(sized, blocks, engine, log);
  set_page(sized, states, engine, log);
  const std::int64_t base = common_block(sized.specs, blocks.attention);
  for (SpecPlan& spec : sized.specs)
    if (keeps_hidden_states(spec)) size_auxiliary(spec, base, sized.page_bytes, log);
  derive_plain_blocks(sized, blocks, engine, log);
  set_padding(sized, log);
  return sized;
}

std::vector<SpecPlan> size_own_pages(std::vector<SpecPlan> specs, const BlockSizes& blocks, const EngineSpec& engine,
                                     const LimitsSpec& limits, const DerivationLog& log) {
  SizedPages sized{std::move(specs), 0};
  set_blocks(sized, blocks, engine, *std::max_element(limits.max_model_lens.begin(), limits.max_model_lens.end()));
  set_kernel_blocks(sized, blocks, engine, log);
  for (SpecPlan& spec : sized.specs)
    if (keeps_hidden_states(spec)) {
      spec.block_size_tokens = spec.kernel_block_size_tokens = blocks.attention;
      const IndexerSpec entries{spec.bytes_per_token, spec.tokens_per_entry};
      require_whole_entries(entries, blocks.attention, "engine.block_size_tokens");
      spec.unpadded_page_bytes = spec.bytes_of_tokens(spec.block_size_tokens);
      log.add([&] {
        return Decision{{"block " + of_spec(spec), spec.block_size_tokens, "tokens"}, "block = B",
                        {{"B", blocks.attention, "tokens"}},
                        log.cite(spec.is_indexer() ? RuleOf::tables : RuleOf::own_pools)};
      });
    }
  derive_plain_blocks(sized, blocks, engine, log);
  return std::move(sized.specs);
}

}  // namespace hybridkv
