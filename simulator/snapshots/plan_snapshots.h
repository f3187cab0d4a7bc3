#pragma once

#include "planner/cache_plan.h"
#include "simulator/snapshots/snapshot_settings.h"

namespace hybridkv {

/// The pools and the tree of a plan with pool groups, as requests are replayed through them.
/// Throws SpecError for a plan of the first manager, whose replay is not known. Pre: pool groups.
/// Example: Qwen3.5-397B at TP2 and 40 GiB, 64 requests, snapshots at the end of prompts: 248 states, 62,668 blocks.
SnapshotSettings snapshot_settings_of(const CachePlan& plan);

}  // namespace hybridkv
