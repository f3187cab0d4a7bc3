#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "ask/conform/figure_place.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// The figures of two pools under a radix tree that engines compute too, in the order in which one follows from
/// another. Pre: the plan has tree pools.
nlohmann::ordered_json tree_figures(const CachePlan& plan);

/// From which decisions they follow.
std::span<const DerivedFigure> derived_tree_figures();

}  // namespace hybridkv
