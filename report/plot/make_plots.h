#pragma once

#include <vector>

#include "ask/plot/plot_values.h"
#include "report/plot/plot.h"

namespace hybridkv {

/// The plots of one kind; page maps look at the inputs until they are drawn. Pre: the values are plot_values of the
/// kind and the inputs.
std::vector<Plot> make_plots(PlotKind kind, const PlotInputs& inputs, const PlotValues& values);

}  // namespace hybridkv
