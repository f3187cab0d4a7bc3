#pragma once

#include <vector>

namespace hybridkv {

/// The value of which that share lies below, 0.5: the median, of an even number the upper one; 0 of no values.
double quantile(std::vector<double> values, double share);

}  // namespace hybridkv
