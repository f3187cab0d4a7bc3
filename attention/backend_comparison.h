#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attention/backend.h"

namespace hybridkv {

/// What one backend gives beside an output that another one computed.
struct BackendComparison {
  AttentionBackend backend;
  std::optional<std::string> declined;  ///< why it does not claim the inputs, so did not run
  /// Largest absolute difference of output and log-sum-exp; infinite where one of the two alone is no finite number.
  double difference = 0;
};

/// Runs every backend of the table that claims the inputs but the reference, which is slow, and `computed_by`, whose
/// output is given. Throws as `build_metadata` and `check_tensors`.
template <class Real>
std::vector<BackendComparison> compare_backends(const AttentionInputs& inputs, AttentionBackend computed_by,
                                                const AttentionOutput<Real>& output);

extern template std::vector<BackendComparison> compare_backends(const AttentionInputs&, AttentionBackend,
                                                                const AttentionOutput<float>&);
extern template std::vector<BackendComparison> compare_backends(const AttentionInputs&, AttentionBackend,
                                                                const AttentionOutput<double>&);

}  // namespace hybridkv
