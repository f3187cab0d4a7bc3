#pragma once

#include <string>

#include "planner/cache_plan.h"
#include "simulator/snapshots/snapshot_settings.h"
#include "verify/forward/forward_case.h"

namespace hybridkv {

/// Tokens of a block as the cases have it, and pages and states that no case needs more of.
inline constexpr std::int64_t snapshot_case_block_tokens = 16;
inline constexpr std::int64_t most_forward_snapshot_ids = 64;

/// The pools and the tree of a plan as the cases run them, with at most its ids: chunks of 64 tokens, so that prompts
/// stay short. Pre: the plan has pool groups with `most_forward_snapshot_ids`, of blocks of
/// `snapshot_case_block_tokens`.
SnapshotSettings snapshot_case_settings(const CachePlan& plan);

/// Why the case has nothing to show with these settings; empty where it has.
std::string reason_not_to_run(ForwardCase forward_case, const SnapshotSettings& settings);

/// Runs a case of requests that go through a tree with snapshots; where these are taken each case says itself.
/// Pre: `setting.snapshots`, one of forward_cases_of its release, no reason_not_to_run.
void run_snapshot_case(ForwardCase forward_case, const ForwardSetting& setting, ForwardResult& result);

}  // namespace hybridkv
