#pragma once

#include <optional>
#include <string_view>

#include "planner/cache_plan.h"

namespace hybridkv {

/// Our rule of a figure of a replay through a radix tree: "replay.hit_tokens". A plan decides nothing of a replay but
/// the pools and the grids, so that these rules stand here in words. Nothing of any other figure.
/// Pre: the plan has tree pools.
std::optional<Decision> tree_replay_rule(const CachePlan& plan, std::string_view figure);

}  // namespace hybridkv
