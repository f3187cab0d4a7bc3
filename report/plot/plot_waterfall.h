#pragma once

#include <vector>

#include "ask/plot/waterfall.h"
#include "report/plot/plot.h"

namespace hybridkv {

/// From token by token down to what is found, a step a cause, to scale; one picture a plan. Pre: the values are of
/// PlotInputs::set.
std::vector<Plot> plot_waterfalls(const PlotInputs& inputs, const Waterfalls& values);

}  // namespace hybridkv
