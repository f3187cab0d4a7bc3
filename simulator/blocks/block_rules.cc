#include "simulator/blocks/block_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "planner/prefix.h"
#include "simulator/blocks/block_steps.h"
#include "simulator/blocks/cache_geometry.h"
#include "simulator/blocks/modelled_rule.h"
#include "simulator/blocks/prefill_chunk.h"
#include "simulator/pool/victim_chooser.h"

namespace hybridkv {

constinit const BlockRules plain_block_rules;

namespace {

/// Chunks that end at boundaries never come to an end with a budget below the distance of two of them.
void check_chunks(const CacheGeometry& geometry) {
  const std::int64_t step = geometry.checkpoint_step();
  const std::string cut = step == geometry.state_block()
                              ? "cuts chunks to whole blocks"
                              : "ends chunks where every group's blocks end";
  const char* what = step == geometry.state_block() ? "block" : "distance";
  if (geometry.max_num_batched_tokens < step)
    throw SpecError("geometry.max_num_batched_tokens",
                    fmt::format("mode align {}: a budget of {} below the {} of {} tokens would wait for ever; take at "
                                "least {}", cut, geometry.max_num_batched_tokens, what, step, step));
  if (geometry.scheduler.long_prefill_threshold > 0 && geometry.scheduler.long_prefill_threshold < step)
    throw SpecError("geometry.long_prefill_threshold",
                    fmt::format("mode align {}: a threshold of {} below the {} of {} tokens would wait for ever; take "
                                "at least {}, or 0 for none",
                                cut, geometry.scheduler.long_prefill_threshold, what, step, step));
}

}  // namespace

void BlockRules::validate(const CacheGeometry& geometry) const {
  if (cuts_to_blocks(geometry)) check_chunks(geometry);
}

std::vector<ModelledRule> BlockRules::modelled(const CacheGeometry& geometry) const {
  std::vector<ModelledRule> rules;
  if (geometry.drafter_drops_block) rules.push_back(ModelledRule::drafter);
  if (geometry.state_groups > 0 && geometry.retention_interval_tokens)
    rules.push_back(ModelledRule::retention_interval);
  if (geometry.has_partial_tails()) rules.push_back(ModelledRule::match_unit);
  if (geometry.state_groups > 0 && geometry.speculative_tokens > 0)
    rules.push_back(ModelledRule::speculative_states);
  if (geometry.attention_groups > 1) rules.push_back(ModelledRule::several_attention_groups);
  if (geometry.state_groups > 0 && geometry.mode == CacheMode::none)
    rules.push_back(ModelledRule::states_without_caching);
  return rules;
}

bool BlockRules::takes_match_unit(const CacheGeometry&) const { return true; }

bool BlockRules::has_partial_tails(const CacheGeometry& geometry) const {
  if (!geometry.match_unit_tokens) return false;
  return *geometry.match_unit_tokens != geometry.common_multiple();
}

std::int64_t BlockRules::hit_step(const CacheGeometry& geometry) const { return geometry.resume_step(); }

std::int64_t BlockRules::lookahead_tokens(const CacheGeometry&) const { return 0; }

bool BlockRules::cuts_to_blocks(const CacheGeometry& geometry) const { return geometry.aligns_chunks(); }

std::int64_t BlockRules::retention_step(const CacheGeometry&) const { return 1; }

std::int64_t BlockRules::dropped_tokens(const CacheGeometry& geometry, std::size_t) const {
  return geometry.drafter_drops_block ? geometry.attention_step() : 0;
}

std::int64_t BlockRules::attention_row(const CacheGeometry& geometry, std::size_t) const {
  return geometry.attention_grain();
}

bool BlockRules::looks_beyond_limit(const CacheGeometry&) const { return false; }

std::int64_t BlockRules::room_tokens(const CacheGeometry&, std::int64_t tokens) const { return tokens; }

std::vector<std::int64_t> BlockRules::checkpoint_positions(const CacheGeometry& geometry, std::int64_t prompt) const {
  std::vector<std::int64_t> positions;
  const std::int64_t block = geometry.state_block();
  const std::int64_t partial = partial_checkpoint(geometry, prompt);
  std::int64_t start = 0;
  while (start < prompt) {
    const std::int64_t end =
        start + next_prefill_chunk(geometry, {start, prompt, 0}, geometry.max_num_batched_tokens);
    if (geometry.mode == CacheMode::all) {
      for (std::int64_t at = (start / block + 1) * block; at <= end; at += block) positions.push_back(at);
    } else if (end % block == 0) {
      positions.push_back(end);
    }
    if (end == partial && end % block != 0) positions.push_back(end);
    start = end;
  }
  return positions;
}

std::optional<std::int64_t> BlockRules::predicted_copy_hit(const CacheGeometry& geometry, std::int64_t prompt,
                                                           std::int64_t copy) const {
  if (!geometry.caches_prefixes()) return 0;
  if (geometry.has_partial_tails() || geometry.scheduler.checkpoint_back > 0) return std::nullopt;
  const std::int64_t block = geometry.state_groups > 0 ? geometry.checkpoint_step() : geometry.attention_grain();
  // A drafter drops what attention matched last; where that is less than the way back to a checkpoint there is no
  // closed form.
  if (geometry.state_groups > 0 && geometry.drafter_drops_block && geometry.attention_groups > 0 &&
      geometry.attention_grain() != block)
    return std::nullopt;
  if (geometry.aligns_chunks() && prompt % block == 0) {
    std::int64_t chunk = geometry.max_num_batched_tokens;
    if (geometry.scheduler.long_prefill_threshold > 0)
      chunk = std::min(chunk, geometry.scheduler.long_prefill_threshold);
    if (prompt > chunk) return std::nullopt;
    // The second copy made a checkpoint at the branch point; it lies where mode all would find one.
    if (copy > 2 && geometry.scheduler.branch_point)
      return duplicate_hit_tokens(CacheMode::all, true, block, geometry.drafter_drops_block, prompt);
  }
  return duplicate_hit_tokens(geometry.mode, geometry.state_groups > 0, block, geometry.drafter_drops_block, prompt);
}

std::int64_t BlockRules::short_copy_hit(const CacheGeometry& geometry, std::int64_t prompt) const {
  if (!geometry.caches_prefixes()) return 0;
  return duplicate_hit_tokens(geometry.mode, geometry.state_groups > 0, geometry.block_size_tokens,
                              geometry.drafter_drops_block, prompt);
}

std::unique_ptr<VictimChooser> BlockRules::victims(const CacheParts&) const { return nullptr; }

std::unique_ptr<BlockSteps> BlockRules::start(CacheParts& cache) const { return std::make_unique<BlockSteps>(cache); }

}  // namespace hybridkv
