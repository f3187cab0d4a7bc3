#pragma once

#include <vector>

#include "ask/plot/plot_values.h"
#include "report/plot/plot.h"

namespace hybridkv {

/// The page map of each plan, with the bytes of its parts as data. Pre: the maps are of the set, which outlives the
/// plots.
std::vector<Plot> plot_page_maps(const PlanSet& set, const PageMaps& maps);

}  // namespace hybridkv
