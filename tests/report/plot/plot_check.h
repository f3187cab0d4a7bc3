#pragma once

#include <string>

#include "report/plot/plot.h"
#include "report/plot/plot_gnuplot.h"

namespace hybridkv::testing {

/// Is gnuplot there? Else says on standard output that the test is skipped, as ctest expects it.
bool has_gnuplot();

/// Draws the plot in a folder of its own and returns the picture.
std::string drawn(const Plot& plot, const PictureSpec& picture = {});

/// Draws the plot as SVG, reads it back, and checks title, axes with their units, legend, and that every value of every
/// series stands where the axes say that it should, to a fraction of a pixel; nothing missing, nothing more.
void check_drawn(const Plot& plot);

}  // namespace hybridkv::testing
