#include "verify/forward_reference.h"

#include <algorithm>
#include <cmath>

#include "verify/forward_dense.h"

namespace hybridkv {

namespace {

/// float arithmetic through all layers: absolute and relative tolerance of float32, for rows of RMS one.
constexpr double arithmetic_error = 1e-5 + 1.3e-6;
/// Shaken runs are two draws of what roundings can do; another draw may be larger.
constexpr double worst_draws = 3;

ForwardReference compute(const ForwardNetwork& network, const std::vector<std::uint64_t>& contents) {
  DenseRun plain = dense_forward(network, contents);
  ForwardReference reference{std::move(plain.rows), arithmetic_error};
  if (!plain.in_doubt) return reference;
  double largest = 0;
  for (const DenseRounding rounding : {DenseRounding::shaken, DenseRounding::half_shaken}) {
    const std::vector<double> shaken = dense_forward(network, contents, rounding).rows;
    for (std::size_t i = 0; i < shaken.size(); ++i)
      largest = std::max(largest, std::abs(shaken[i] - reference.rows[i]));
  }
  reference.allowed += worst_draws * largest;
  return reference;
}

}  // namespace

std::shared_ptr<const ForwardReference> ForwardReferences::of(const std::vector<std::uint64_t>& contents) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(contents); found != known_.end()) return found->second;
  }
  auto reference = std::make_shared<const ForwardReference>(compute(*network_, contents));
  const std::lock_guard lock(mutex_);
  return known_.emplace(contents, std::move(reference)).first->second;
}

}  // namespace hybridkv
