#include "simulator/cache_geometry.h"

#include <fmt/format.h>

#include "layout/error.h"

namespace hybridkv {

namespace {

// Far beyond any cache, and small enough that no sum of products of two of them leaves 64 bits.
constexpr std::int64_t most_tokens = std::int64_t{1} << 40;
constexpr std::int64_t most_blocks = std::int64_t{1} << 31;
constexpr std::int64_t most_groups = 1 << 12;

void check_range(std::int64_t value, std::int64_t least, std::int64_t most, const char* field) {
  if (value < least || value > most)
    throw SpecError(fmt::format("geometry.{}", field), fmt::format("must be {} to {}, is {}", least, most, value));
}

}  // namespace

void validate(const CacheGeometry& geometry) {
  const std::int64_t block = geometry.block_size_tokens;
  check_range(block, 1, most_tokens, "block_size_tokens");
  check_range(geometry.num_blocks, 2, most_blocks, "num_blocks");
  check_range(geometry.attention_groups, 0, most_groups, "attention_groups");
  check_range(geometry.state_groups, 0, most_groups, "state_groups");
  if (!geometry.attention_masks.empty() && std::ssize(geometry.attention_masks) != geometry.attention_groups)
    throw SpecError("geometry.attention_masks",
                    fmt::format("{} masks for {} attention groups; give one for each, or none",
                                geometry.attention_masks.size(), geometry.attention_groups));
  for (const KeyMask& mask : geometry.attention_masks)
    if (mask.kind != MaskKind::full) check_range(mask.window_tokens, 1, most_tokens, "attention_masks");
  if (geometry.attention_groups + geometry.state_groups == 0)
    throw SpecError("geometry.attention_groups", "a cache has at least one attention or state group");
  check_range(geometry.speculative_tokens, 0, most_blocks, "speculative_tokens");
  check_range(geometry.extra_blocks_per_request, 0, most_blocks, "extra_blocks_per_request");
  check_range(geometry.max_num_batched_tokens, 1, most_tokens, "max_num_batched_tokens");
  check_range(geometry.long_prefill_threshold, 0, most_tokens, "long_prefill_threshold");
  check_range(geometry.max_num_seqs, 1, most_tokens, "max_num_seqs");
  if (!(geometry.watermark >= 0 && geometry.watermark < 1))
    throw SpecError("geometry.watermark", fmt::format("is a share of the pool from 0 to below 1, not {}",
                                                      geometry.watermark));
  check_range(geometry.max_model_len.value_or(1), 1, INT64_MAX, "max_model_len");
  check_range(geometry.retention_interval_tokens.value_or(0), 0, most_tokens, "retention_interval_tokens");
  check_range(geometry.match_unit(), 1, block, "match_unit_tokens");
  if (block % geometry.match_unit() != 0)
    throw SpecError("geometry.match_unit_tokens", fmt::format("{} does not divide the block of {} tokens",
                                                              geometry.match_unit(), block));
  if (!geometry.aligns_chunks()) return;
  if (geometry.max_num_batched_tokens < block)
    throw SpecError("geometry.max_num_batched_tokens",
                    fmt::format("mode align cuts chunks to whole blocks: a budget of {} below the block of {} tokens "
                                "would wait for ever; take at least {}",
                                geometry.max_num_batched_tokens, block, block));
  if (geometry.long_prefill_threshold > 0 && geometry.long_prefill_threshold < block)
    throw SpecError("geometry.long_prefill_threshold",
                    fmt::format("mode align cuts chunks to whole blocks: a threshold of {} below the block of {} "
                                "tokens would wait for ever; take at least {}, or 0 for none",
                                geometry.long_prefill_threshold, block, block));
}

std::string_view to_string(ModelledRule rule) {
  switch (rule) {
    case ModelledRule::decode: return "decode";
    case ModelledRule::several_in_flight: return "several requests in flight";
    case ModelledRule::preemption: return "preemption";
    case ModelledRule::drafter: return "drafter that drops a block";
    case ModelledRule::retention_interval: return "retention interval";
    case ModelledRule::match_unit: return "match unit smaller than the block";
    case ModelledRule::speculative_states: return "speculative states";
    case ModelledRule::extra_blocks: return "extra blocks per request";
    case ModelledRule::watermark: return "watermark";
    case ModelledRule::long_prefill_threshold: return "long-prefill threshold";
    case ModelledRule::several_attention_groups: return "several attention groups";
    case ModelledRule::states_without_caching: return "states in mode none";
  }
  return "?";
}

std::vector<ModelledRule> modelled_rules(const CacheGeometry& geometry) {
  std::vector<ModelledRule> rules;
  if (geometry.drafter_drops_block) rules.push_back(ModelledRule::drafter);
  if (geometry.state_groups > 0 && geometry.retention_interval_tokens)
    rules.push_back(ModelledRule::retention_interval);
  if (geometry.match_unit() != geometry.block_size_tokens) rules.push_back(ModelledRule::match_unit);
  if (geometry.state_groups > 0 && geometry.speculative_tokens > 0)
    rules.push_back(ModelledRule::speculative_states);
  if (geometry.extra_blocks_per_request > 0) rules.push_back(ModelledRule::extra_blocks);
  if (geometry.watermark > 0) rules.push_back(ModelledRule::watermark);
  if (geometry.long_prefill_threshold > 0) rules.push_back(ModelledRule::long_prefill_threshold);
  if (geometry.attention_groups > 1) rules.push_back(ModelledRule::several_attention_groups);
  if (!geometry.caches_prefixes()) rules.push_back(ModelledRule::states_without_caching);
  return rules;
}

}  // namespace hybridkv
