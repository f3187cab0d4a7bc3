#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/plot/plot.h"

namespace hybridkv {

/// A labelled place of an axis, in the unit of the picture.
struct AxisTick {
  double at = 0;
  std::string label;  ///< a number as every other text of the program writes it: "16,384", "2.5"
  bool operator==(const AxisTick&) const = default;
};

/// Where an axis begins and ends and what is written along it. Invariant: least < most; ticks ascend within them.
struct AxisScale {
  double least = 0;
  double most = 1;
  std::vector<AxisTick> ticks;
};

/// The scale of an axis for these values (in the unit of the picture, in any order; none is as good as one zero).
///
/// Ends that the axis does not fix lie on round numbers around the values (1, 2 or 5 times a power of ten; on a
/// logarithmic axis a power of 2), and never beyond its floor and ceiling. Where all values are one, the axis begins at
/// 0, so that a flat line is seen for what it is. Example: values 76.1 … 89.2 with 6 ticks: 76 to 90 by 2.
/// `most_ticks`: about how many labels there is room for, at least 2.
AxisScale axis_scale(const PlotAxis& axis, std::span<const double> values, int most_ticks);

}  // namespace hybridkv
