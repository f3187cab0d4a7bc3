#pragma once

#include <cstdint>
#include <string>

#include "attention/backend_features.h"
#include "attention/output.h"

namespace hybridkv {

/// What one backend of attention did in forward passes.
struct BackendWork {
  AttentionBackend backend;
  std::int64_t batches = 0;  ///< of one step and one layer, that it computed
  std::int64_t declined = 0; ///< those that it does not claim
  std::string reason;        ///< why, of the first; empty where it claimed all
  /// Largest difference from the backend that the network went on with, on the same tensors, as a multiple of what
  /// float32 explains; infinite where one of them alone gives no number.
  double times_allowed = 0;
  std::string message;       ///< the first difference above 1, with its place

  /// Enters the output of a layer beside the one of `driver`, which the network goes on with.
  void note_difference(const AttentionOutput<float>& output, const AttentionOutput<float>& driving,
                       AttentionBackend driver, std::int64_t layer);
  /// Takes up what the same backend did elsewhere.
  void add(const BackendWork& other);
};

}  // namespace hybridkv
