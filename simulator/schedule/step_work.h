#pragma once

#include <cstdint>

#include "clock/step_batch.h"

namespace hybridkv {

/// What one step did.
struct StepWork {
  std::int64_t prefill_tokens = 0;
  std::int64_t decoded_requests = 0;
  std::int64_t copied_states = 0;
  std::int64_t ended = 0;  ///< requests that were refused or stalled in this step, without any tokens
  StepBatch batch;         ///< what is computed, where a clock asks for it
  bool idle() const { return prefill_tokens == 0 && decoded_requests == 0 && ended == 0; }
};

}  // namespace hybridkv
