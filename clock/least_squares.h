#pragma once

#include <functional>
#include <span>
#include <vector>

namespace hybridkv {

/// A number to be found between two bounds.
struct BoundedValue {
  double start = 0;
  double least = 0;
  double most = 0;
};

/// The values that make the sum of the squares of `residuals` least, found by Levenberg and Marquardt's steps with
/// differences for derivatives, from the start and within the bounds. `residuals` fills a vector of the same size in
/// every call; it is called some hundred times.
std::vector<double> least_squares(std::span<const BoundedValue> values,
                                  const std::function<void(std::span<const double>, std::vector<double>&)>& residuals);

}  // namespace hybridkv
