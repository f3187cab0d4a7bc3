#pragma once

#include "simulator/blocks/block_rules.h"

namespace hybridkv {

/// The rules of vLLM 0.33: hits end at match units where states lie closer than blocks, chunks export states, keys look
/// ahead for a drafter, and only the states that a retention interval names stay (PrefixPositions says which).
/// Source: vLLM 0.33 KVCacheManager, KVCacheCoordinator, MambaManager and Scheduler.
class MatchUnitRules : public BlockRules {
 public:
  constexpr MatchUnitRules() = default;

  void validate(const CacheGeometry& geometry) const override;
  std::vector<ModelledRule> modelled(const CacheGeometry& geometry) const override;
  bool covers_decoding() const override { return true; }
  bool takes_match_unit(const CacheGeometry& geometry) const override;
  bool has_partial_tails(const CacheGeometry& geometry) const override;
  std::int64_t hit_step(const CacheGeometry& geometry) const override;
  std::int64_t lookahead_tokens(const CacheGeometry& geometry) const override;
  bool cuts_to_blocks(const CacheGeometry&) const override { return false; }
  std::int64_t retention_step(const CacheGeometry& geometry) const override;
  bool retains_windows() const override { return true; }
  bool adapts_thresholds() const override { return true; }
  bool finds_chunks() const override { return false; }
  std::int64_t dropped_tokens(const CacheGeometry& geometry, std::size_t attention_group) const override;
  std::int64_t attention_row(const CacheGeometry& geometry, std::size_t attention_group) const override;
  bool looks_beyond_limit(const CacheGeometry& geometry) const override;
  std::int64_t room_tokens(const CacheGeometry& geometry, std::int64_t tokens) const override;
  std::vector<std::int64_t> checkpoint_positions(const CacheGeometry& geometry, std::int64_t prompt) const override;
  std::optional<std::int64_t> predicted_copy_hit(const CacheGeometry& geometry, std::int64_t prompt,
                                                 std::int64_t copy) const override;
  std::int64_t short_copy_hit(const CacheGeometry& geometry, std::int64_t prompt) const override;
  bool releases_in_order() const override { return true; }
  std::unique_ptr<BlockSteps> start(CacheParts& cache) const override;
};

extern const MatchUnitRules match_unit_rules;

}  // namespace hybridkv
