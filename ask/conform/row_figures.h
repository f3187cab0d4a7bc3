#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "ask/conform/figure_place.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// The figures of cells and rows of sequences that engines say too, sizes in MiB with the two decimals that they print.
/// Pre: the plan has rows of sequences.
nlohmann::ordered_json row_figures(const CachePlan& plan);

/// From which decisions they follow.
std::span<const DerivedFigure> derived_row_figures();

}  // namespace hybridkv
