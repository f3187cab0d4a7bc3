#include "simulator/cache_geometry.h"

#include <fmt/format.h>

#include "layout/error.h"

namespace hybridkv {

namespace {

void check_at_least(std::int64_t value, std::int64_t least, const char* field) {
  if (value < least)
    throw SpecError(fmt::format("geometry.{}", field), fmt::format("must be at least {}, is {}", least, value));
}

}  // namespace

void validate(const CacheGeometry& geometry) {
  const std::int64_t block = geometry.block_size_tokens;
  check_at_least(block, 1, "block_size_tokens");
  check_at_least(geometry.num_blocks, 2, "num_blocks");
  if (geometry.num_blocks > std::int64_t{1} << 31)
    throw SpecError("geometry.num_blocks", fmt::format("at most 2^31 blocks can be simulated, not {}",
                                                       geometry.num_blocks));
  check_at_least(geometry.attention_groups, 0, "attention_groups");
  check_at_least(geometry.state_groups, 0, "state_groups");
  if (geometry.attention_groups + geometry.state_groups == 0)
    throw SpecError("geometry.attention_groups", "a cache has at least one attention or state group");
  check_at_least(geometry.speculative_tokens, 0, "speculative_tokens");
  check_at_least(geometry.extra_blocks_per_request, 0, "extra_blocks_per_request");
  check_at_least(geometry.max_num_batched_tokens, 1, "max_num_batched_tokens");
  check_at_least(geometry.long_prefill_threshold, 0, "long_prefill_threshold");
  check_at_least(geometry.max_num_seqs, 1, "max_num_seqs");
  if (!(geometry.watermark >= 0 && geometry.watermark < 1))
    throw SpecError("geometry.watermark", fmt::format("is a share of the pool from 0 to below 1, not {}",
                                                      geometry.watermark));
  if (geometry.retention_interval_tokens) check_at_least(*geometry.retention_interval_tokens, 0,
                                                         "retention_interval_tokens");
  check_at_least(geometry.match_unit(), 1, "match_unit_tokens");
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
  return rules;
}

}  // namespace hybridkv
