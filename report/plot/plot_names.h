#pragma once

#include <string>

#include "report/plot/plot.h"

namespace hybridkv {

/// gnuplot's SVG of the plot with the words that it cannot write: the picture's own title and caption (what a screen
/// reader says of it) and each series' title where the mouse rests on it; gnuplot writes names of its own making there.
std::string with_names(const Plot& plot, const std::string& svg);

}  // namespace hybridkv
