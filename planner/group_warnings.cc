#include "planner/group_warnings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/number_text.h"
#include "planner/group_split.h"

namespace hybridkv {

namespace {

void warn_no_snapshots(std::vector<Warning>& warnings, const CachePlan& plan) {
  const PoolGroups& groups = *plan.pool_groups;
  if (plan.cache_mode == CacheMode::none) return;
  if (!groups.points.any())
    warnings.push_back(
        {"no_snapshots",
         fmt::format("block reuse is on and no snapshot of a state is ever taken, so that nothing of any prompt is "
                     "found again: set {}",
                     groups.first_manager
                         ? "engine.periodic_snapshot_interval"
                         : "engine.additional_snapshot_offsets_from_end: [0] for conversations that go on, "
                           "engine.periodic_snapshot_interval for copies and long beginnings that prompts share, or "
                           "engine.enable_branch_snapshot: true for shorter ones")});
  else if (plan.prefix.duplicate_misses_up_to_tokens == largest_tokens)
    warnings.push_back({"copies_find_nothing",
                        "the only snapshot of a prompt lies at its end, past what a copy may match: the same prompt "
                        "sent again finds nothing; set another one of "
                        "engine.additional_snapshot_offsets_from_end, or engine.periodic_snapshot_interval"});
}

void warn_estimate(std::vector<Warning>& warnings, const CachePlan& plan) {
  const PoolGroups& groups = *plan.pool_groups;
  const std::int64_t memory = Checked(groups.grains) * groups.grain_bytes - groups.borrowed_bytes;
  if (groups.grains == 0 || memory >= groups.estimate_bytes) return;
  warnings.push_back({"estimate_above_memory",
                      fmt::format("the engine reckons with {} bytes for the states and snapshots of {} before any "
                                  "token, and has {}: it refuses to start where it sizes the memory by tokens; lower "
                                  "engine.max_batch_size, or give more",
                                  human_count(groups.estimate_bytes), human_plural(groups.max_requests, "request"),
                                  human_count(memory))});
}

void warn_raised_host(std::vector<Warning>& warnings, const CachePlan& plan) {
  const PoolGroups& groups = *plan.pool_groups;
  if (groups.host.borrowed_bytes < host_page_bytes) return;
  warnings.push_back({"host_raised",
                      fmt::format("engine.host_cache_size is {} bytes, and {} takes {} of the host all the same: "
                                  "states of {} and of {} more, and a block; set as much, or leave it out for none",
                                  human_count(groups.host.bytes - groups.host.borrowed_bytes), plan.rules->title,
                                  human_count(groups.host.bytes), human_plural(groups.max_requests, "request"),
                                  human_count(groups.dummy_requests))});
}

void warn_cut_length(std::vector<Warning>& warnings, const CachePlan& plan) {
  for (const CapacityPlan& capacity : plan.capacity)
    if (!capacity.fits) {
      warnings.push_back({"length_cut", fmt::format("{} starts all the same and cuts max_seq_len to the {} that its "
                                                    "blocks hold", plan.rules->title,
                                                    human_plural(plan.max_fitting_tokens, "token"))});
      return;
    }
}

void warn_kda_dtype(std::vector<Warning>& warnings, const CachePlan& plan) {
  for (const SpecPlan& spec : plan.specs)
    if (spec.kind == "kda" && spec.state->tensors.back().dtype != DType::fp32) {
      warnings.push_back({"state_dtype_ignored",
                          fmt::format("{} keeps the states of kda layers in fp32 whatever mamba_ssm_cache_dtype says; "
                                      "they are planned as set", plan.rules->title)});
      return;
    }
}

}  // namespace

void warn_of_groups(std::vector<Warning>& warnings, const CachePlan& plan) {
  warn_no_snapshots(warnings, plan);
  warn_estimate(warnings, plan);
  warn_raised_host(warnings, plan);
  warn_cut_length(warnings, plan);
  warn_kda_dtype(warnings, plan);
}

}  // namespace hybridkv
