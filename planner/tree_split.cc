#include "planner/tree_split.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "planner/indexers.h"
#include "planner/replay_ring.h"
#include "planner/split_decisions.h"
#include "planner/tensor_pool_rules.h"
#include "planner/tree_host_slots.h"
#include "planner/tree_settings.h"

namespace hybridkv {

namespace {

constexpr std::int64_t default_chunk_tokens = 64;

/// What kernels read that go by the keys of an indexer.
constexpr std::int64_t page_beside_indexers = 64;

bool keeps_prefixes(const EngineSpec& engine) { return engine.cache_mode != CacheMode::none; }

/// Models that it has no class for.
void refuse_unserved(const ModelSpec& model, const EngineSpec& engine) {
  const std::string_view title = engine.rules->title;
  if (unserved_by(*engine.rules, model))
    throw SpecError("engine.release", fmt::format("{} does not run {}; take another release", title, model.name));
  refuse_unlike_hybrids(model, engine);
  if (!model.auxiliary.empty())
    throw SpecError("engine.release",
                    fmt::format("{} is not planned for {}, whose states beside its layers its split does not count; "
                                "take another release", title, model.name));
  for (const LayerSpec& layer : model.layers)
    if (layer.recurrent && std::holds_alternative<Mamba1Spec>(*layer.recurrent))
      throw SpecError("engine.release",
                      fmt::format("{} runs no model with attention and mamba1 layers (Jamba, Plamo2); take another "
                                  "release", title));
}

void refuse_numbers(const ModelSpec& model, const EngineSpec& engine) {
  if (const auto requests = engine.max_running_requests; requests && (*requests < 1 || *requests > largest_tokens))
    throw SpecError("engine.max_running_requests", fmt::format("is {}; allowed: 1 to {}", *requests, largest_tokens));
  const std::int64_t page = tree_page(model, engine), interval = track_interval(engine);
  if (!keeps_prefixes(engine)) return;
  if (tree_strategy(engine) == TreeStrategy::no_buffer) {
    if (page != 1)
      throw SpecError("engine.page_size", fmt::format("no_buffer needs pages of one token, not {}; take 1 or another "
                                                      "engine.mamba_radix_cache_strategy", page));
    return;
  }
  if (interval % page != 0 || interval < engine.speculative_tokens)
    throw SpecError("engine.mamba_track_interval",
                    fmt::format("is {}; it must be a multiple of the page of {} tokens and no less than the {} draft "
                                "tokens of a step", interval, page, engine.speculative_tokens));
}

/// Tokens of whole keys of every indexer. A ring beside them holds the tokens of one.
std::int64_t tokens_of_keys(const ModelSpec& model) {
  std::int64_t tokens = std::max<std::int64_t>(1, model.ring_tokens);
  for (std::int64_t layer = 0; layer < std::ssize(model.layers); ++layer)
    if (const auto indexer = indexer_of(model, layer)) tokens = checked_lcm(tokens, indexer->tokens_per_entry);
  return tokens;
}

/// A key of an indexer stands for several tokens, all of one page; latents of 8 bits have scales of their own beside
/// it.
void refuse_beside_indexers(const ModelSpec& model, const EngineSpec& engine) {
  if (!has_indexers(model)) return;
  if (engine.kv_dtype && element_bytes(*engine.kv_dtype) == 1)
    throw SpecError("engine.kv_dtype",
                    fmt::format("is {}; what {} keeps of 8 bits beside indexers has scales that are not planned; leave "
                                "it out", to_string(*engine.kv_dtype), engine.rules->title));
  const std::int64_t page = tree_page(model, engine), pooled = tokens_of_keys(model);
  if (page % pooled == 0) return;
  throw SpecError("engine.page_size",
                  fmt::format("is {}; a key of the indexers of {} stands for {} tokens of a page; take a multiple, or "
                              "leave it out for {}", page, model.name, pooled, page_beside_indexers));
}

void refuse_replay(const EngineSpec& engine) {
  if (!engine.own[tree_key::linear_replayssm_spec]) return;
  if (engine.speculative_tokens == 0)
    throw SpecError("engine.linear_replayssm_spec",
                    "replaces the states of draft steps, and there are no draft tokens; set "
                    "engine.speculative_tokens, or leave it out");
  if (engine.speculative_tokens > replayed_tokens)
    throw SpecError("engine.linear_replayssm_spec",
                    fmt::format("keeps the inputs of {} tokens, too few for {} draft tokens; take fewer drafts",
                                replayed_tokens, engine.speculative_tokens));
}

/// The rows of all layers, where each has one.
std::optional<ReplayRing> ring_of(std::span<const SpecPlan> specs, const ArrangeInputs& inputs) {
  if (!inputs.engine.own[tree_key::linear_replayssm_spec]) return std::nullopt;
  std::optional<ReplayRing> all;
  for (const SpecPlan& spec : specs) {
    if (!spec.state) continue;
    RecurrentSpec layer = *inputs.model.layers[static_cast<std::size_t>(spec.layers.front())].recurrent;
    extend_groups(layer, inputs.engine.tensor_parallel);
    const std::optional<ReplayRing> ring =
        replay_ring(layer, std::ssize(spec.layers),
                    {.tensor_parallel = inputs.engine.tensor_parallel,
                     .conv_dtype = spec.state->tensors.front().dtype});
    if (!ring) return std::nullopt;
    all = ReplayRing{Checked(all.value_or(ReplayRing{}).row_bytes) + ring->row_bytes, ring->in_state_slots};
  }
  return all;
}

/// What the indexers of the layers add to the cell.
std::int64_t indexer_cell_bytes(std::span<const SpecPlan> specs, const ModelSpec& model) {
  Checked bytes = 0;
  for (const SpecPlan& spec : specs)
    if (spec.role() == SpecRole::attention)
      for (const std::int64_t layer : with_readers(model, spec.layers))
        if (const auto indexer = indexer_of(model, layer))
          bytes += ceil_div(indexer->bytes_per_entry, indexer->tokens_per_entry);
  return bytes;
}

StateSlotHolding holding_of(const EngineSpec& engine) {
  return {.radix_cache = keeps_prefixes(engine),
          .strategy = tree_strategy(engine),
          .overlap_schedule = engine.own[tree_key::overlap_schedule],
          .skip_decode_lock = engine.own[tree_key::skip_decode_lock]};
}

SplitInputs split_inputs(const TreePools& pools, const std::optional<ReplayRing>& ring, const ArrangeInputs& inputs) {
  const EngineSpec& engine = inputs.engine;
  const auto& lengths = inputs.limits.max_model_lens;
  return {.memory_gib = static_cast<double>(engine.memory_bytes) / 0x1p30,
          .state_slot_bytes = pools.state_slot_bytes,
          .token_bytes = pools.token_bytes,
          .page_tokens = pools.page_tokens,
          .state_slots_per_request = state_slots_per_request(holding_of(engine)),
          .full_memory_ratio = memory_ratio(engine),
          .max_mamba_cache_size = engine.own.find(tree_key::max_mamba_cache_size),
          .max_running_requests = engine.max_running_requests,
          .max_total_tokens = engine.own.find(tree_key::max_total_tokens),
          .attention_data_parallel = engine.own[tree_key::attention_data_parallel],
          .radix_cache = keeps_prefixes(engine),
          .draft_tokens = engine.speculative_tokens,
          .replay = ring,
          .context_tokens = *std::max_element(lengths.begin(), lengths.end())};
}

}  // namespace

void validate_tree_engine(const ModelSpec& model, const EngineSpec& engine) {
  refuse_unserved(model, engine);
  refuse_numbers(model, engine);
  refuse_beside_indexers(model, engine);
  refuse_replay(engine);
  validate_tree_host(engine);
}

std::int64_t tree_page(const ModelSpec& model, const EngineSpec& engine) {
  const auto page = engine.own.find(tree_key::page_size);
  if (!page && has_indexers(model)) return page_beside_indexers;
  return engine.own[tree_key::page_size];
}

TreeStrategy tree_strategy(const EngineSpec& engine) {
  const TreeStrategy asked = engine.own[tree_key::mamba_radix_cache_strategy];
  if (asked != TreeStrategy::automatic) return asked;
  const bool tracks = engine.own[tree_key::overlap_schedule] || engine.own[tree_key::page_size] > 1;
  return tracks ? TreeStrategy::extra_buffer : TreeStrategy::no_buffer;
}

std::int64_t tree_scan_chunk(const ModelSpec& model) {
  std::int64_t chunk = 0;
  for (const LayerSpec& layer : model.layers) {
    if (!layer.recurrent) continue;
    const std::int64_t unnamed = convolves_alone(*layer.recurrent) ? 1 : default_chunk_tokens;
    chunk = std::max(chunk, scan_chunk_tokens(*layer.recurrent).value_or(unnamed));
  }
  return chunk;
}

std::int64_t track_interval(const EngineSpec& engine) {
  return engine.own[tree_key::mamba_track_interval];
}

double memory_ratio(const EngineSpec& engine) { return engine.state_memory_ratio.value_or(0.9); }

std::int64_t tree_checkpoint_grid(std::int64_t scan_chunk, std::int64_t page_tokens) {
  return checked_lcm(std::max(scan_chunk, page_tokens), page_tokens);
}

std::int64_t tree_decode_grid(std::int64_t checkpoint_grid, std::int64_t track_interval) {
  return checked_lcm(checkpoint_grid, track_interval);
}

BlockSizes tree_block_sizes(const ModelSpec& model, const EngineSpec& engine, const DerivationLog& log) {
  BlockSizes blocks;
  blocks.attention = tree_page(model, engine);
  log.add([&] {
    return Decision{{"B", blocks.attention, "tokens"},
                    has_indexers(model) ? "B = the page, 64 beside indexers unless set"
                                                      : "B = the page, 1 unless set",
                    {}, "engine.page_size"};
  });
  const std::int64_t chunk = tree_scan_chunk(model);
  const bool tracks = tree_strategy(engine) != TreeStrategy::no_buffer;
  blocks.state = tracks ? tree_checkpoint_grid(chunk, blocks.attention) : 1;
  log.add([&] {
    return Decision{{"G", blocks.state, "tokens"},
                    tracks ? "G = lcm(max(chunk of the scan or 64, page), page): the grid of the states of prompts"
                           : "1: states are kept where a chunk or a request ends",
                    {{"chunk of the scan", chunk, "tokens"}, {"page", blocks.attention, "tokens"}},
                    log.cite(RuleOf::dual_pool)};
  });
  return blocks;
}

TreePools make_tree_pools(std::span<const SpecPlan> specs, const BlockSizes& blocks, const ArrangeInputs& inputs) {
  TreePools pools;
  pools.token_bytes = indexer_cell_bytes(specs, inputs.model);
  pools.strategy = tree_strategy(inputs.engine);
  pools.page_tokens = blocks.attention;
  pools.checkpoint_tokens = blocks.state;
  pools.decode_tokens = pools.strategy == TreeStrategy::no_buffer
                            ? 1
                            : tree_decode_grid(blocks.state, track_interval(inputs.engine));
  for (const SpecPlan& spec : specs) {
    const Checked layers = std::ssize(spec.layers);
    if (spec.state)
      pools.state_slot_bytes = Checked(pools.state_slot_bytes) + layers * spec.state->bytes;
    else
      pools.token_bytes = Checked(pools.token_bytes) + layers * spec.bytes_per_token;
  }
  const SplitInputs split = split_inputs(pools, ring_of(specs, inputs), inputs);
  pools.split = split_memory(split);
  pools.host = tree_host_slots(inputs.engine, pools);
  if (inputs.engine.own[tree_key::unified_memory]) pools.unified = unified_pool(split, pools.split);
  for (const std::int64_t tokens : inputs.limits.max_model_lens)
    if (const auto advice = advise_ratio(split, pools.split, tokens))
      pools.advice.push_back({tokens, advice->balanced_ratio, advice->best_ratio, advice->best.state_slots,
                              advice->best.token_slots, advice->running_now, advice->running_best,
                              advice->idle_percent});
  inputs.log.add([&] {
    return Decision{{"I", pools.decode_tokens, "tokens"},
                    pools.decode_tokens > 1 ? "I = lcm(G, mamba_track_interval or 256): while decoding"
                                            : "1: states are kept where a request ends",
                    {{"G", blocks.state, "tokens"}}, inputs.log.cite(RuleOf::dual_pool)};
  });
  derive_split(pools, split, inputs);
  return pools;
}

}  // namespace hybridkv
