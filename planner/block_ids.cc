#include "planner/block_ids.h"

#include <algorithm>

#include "layout/checked.h"

namespace hybridkv {

namespace {

std::int64_t recurrent_block_ids(const CachePlan& plan, const SpecPlan& spec, std::int64_t tokens) {
  switch (plan.cache_mode) {
    case CacheMode::none: return Checked(1) + plan.speculative_tokens;
    case CacheMode::align: return Checked(2) + plan.speculative_tokens;
    case CacheMode::all: return Checked(ceil_div(tokens, spec.block_size_tokens)) + plan.speculative_tokens;
  }
  throw std::logic_error("unknown cache mode");
}

}  // namespace

std::int64_t group_block_ids(const CachePlan& plan, const SpecPlan& spec, std::int64_t tokens) {
  if (spec.state) return recurrent_block_ids(plan, spec, tokens);
  const std::int64_t window = spec.attention->window_tokens;
  switch (spec.attention->kind) {
    case AttentionKind::full:
    case AttentionKind::hidden_state:
    case AttentionKind::mla: return ceil_div(tokens, spec.block_size_tokens);
    case AttentionKind::sliding_window: {
      const std::int64_t live = Checked(window) - 1 + plan.max_num_batched_tokens;
      return ceil_div(std::min(live, tokens), spec.block_size_tokens) + 1;
    }
    case AttentionKind::chunked_local: {
      const std::int64_t live = Checked(window) + plan.max_num_batched_tokens;
      return ceil_div(std::min(live, tokens), spec.block_size_tokens);
    }
  }
  throw std::logic_error("unknown attention kind");
}

std::int64_t request_block_ids(const CachePlan& plan, std::int64_t tokens) {
  Checked ids = 0;
  for (const GroupPlan& group : plan.groups) ids += group_block_ids(plan, plan.specs[group.spec], tokens);
  for (const ExtraPlan& extra : plan.extras) ids += extra.blocks_per_request;
  return ids;
}

}  // namespace hybridkv
