#pragma once

#include <vector>

#include "ask/plot/prefix_stairs.h"
#include "report/plot/plot.h"

namespace hybridkv {

/// The stairs of prefix caching: tokens that hit against what two prompts share, for each pack size; a row of diagrams
/// a layout, a column a situation. Pre: the situations are of the inputs, at least one.
Plot plot_staircase(const PlotInputs& inputs, const std::vector<PrefixSituation>& situations);

}  // namespace hybridkv
