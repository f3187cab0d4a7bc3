#include "attention/backend_comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hybridkv {

namespace {

template <class Real>
double largest_difference(const std::vector<float>& got, const std::vector<Real>& wanted) {
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i]))) continue;
    const double difference = std::abs(static_cast<double>(got[i]) - static_cast<double>(wanted[i]));
    largest = std::max(largest, std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity());
  }
  return largest;
}

}  // namespace

template <class Real>
std::vector<BackendComparison> compare_backends(const AttentionInputs& inputs, AttentionBackend computed_by,
                                                const AttentionOutput<Real>& output) {
  std::vector<BackendComparison> comparisons;
  const GroupBatch batch = make_group_batch(inputs.metadata, inputs.shape(), inputs.is_decode);
  for (const AttentionBackend backend : compared_attention_backends) {
    if (backend == computed_by) continue;
    const auto metadata = build_metadata(backend, batch);
    BackendComparison& comparison = comparisons.emplace_back();
    comparison.backend = backend;
    comparison.declined = metadata->declines(inputs);
    if (comparison.declined) continue;
    const AttentionOutput<float> other = metadata->run(inputs).output;
    comparison.difference =
        std::max(largest_difference(other.out, output.out), largest_difference(other.lse, output.lse));
  }
  return comparisons;
}

template std::vector<BackendComparison> compare_backends(const AttentionInputs&, AttentionBackend,
                                                         const AttentionOutput<float>&);
template std::vector<BackendComparison> compare_backends(const AttentionInputs&, AttentionBackend,
                                                         const AttentionOutput<double>&);

}  // namespace hybridkv
