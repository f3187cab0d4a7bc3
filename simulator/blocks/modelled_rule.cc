#include "simulator/blocks/modelled_rule.h"

#include "simulator/blocks/block_rules.h"

namespace hybridkv {

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
    case ModelledRule::several_arenas: return "several arenas";
    case ModelledRule::unequal_blocks: return "blocks of unequal size";
    case ModelledRule::draft_tokens: return "accepted draft tokens";
    case ModelledRule::several_drafter_modules: return "drafter of several modules";
    case ModelledRule::drafter_windows: return "windows of a drafter";
    case ModelledRule::several_windows: return "several kinds of windows";
    case ModelledRule::host_tier: return "host memory";
    case ModelledRule::large_pages: return "large pages that arenas share";
    case ModelledRule::eviction_policy: return "eviction policy";
    case ModelledRule::checkpoint_back: return "last state moved back";
    case ModelledRule::layout: return "layout that no engine's run covers";
  }
  return "?";
}

std::vector<ModelledRule> modelled_rules(const CacheGeometry& geometry) {
  std::vector<ModelledRule> rules = geometry.rules.blocks->modelled(geometry);
  if (geometry.extra_blocks_per_request > 0 || !geometry.held_groups.empty())
    rules.push_back(ModelledRule::extra_blocks);
  if (!geometry.scheduler.evicts_as_engines()) rules.push_back(ModelledRule::eviction_policy);
  if (geometry.scheduler.checkpoint_back > 0) rules.push_back(ModelledRule::checkpoint_back);
  if (geometry.scheduler.watermark > 0) rules.push_back(ModelledRule::watermark);
  if (geometry.scheduler.long_prefill_threshold > 0) rules.push_back(ModelledRule::long_prefill_threshold);
  if (geometry.modelled_layout) rules.push_back(ModelledRule::layout);
  if (geometry.num_arenas() > 1) rules.push_back(ModelledRule::several_arenas);
  if (geometry.shares_large_pages()) rules.push_back(ModelledRule::large_pages);
  if (geometry.host) rules.push_back(ModelledRule::host_tier);
  if (geometry.has_unequal_blocks()) rules.push_back(ModelledRule::unequal_blocks);
  return rules;
}

}  // namespace hybridkv
