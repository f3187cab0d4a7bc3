#pragma once

#include <cstdint>

#include "simulator/trace/trace.h"

namespace hybridkv {

/// What the workload is, whatever the layout.
struct WorkloadFacts {
  std::int64_t requests = 0;         ///< all of them
  std::int64_t too_long_requests = 0;  ///< of those, refused for max_model_len; the rest counts without them
  std::int64_t prompt_tokens = 0;
  std::int64_t longest_prompt_tokens = 0;
  std::int64_t longest_repeat_tokens = 0;  ///< most that one prompt shares with an earlier one
  std::int64_t repeated_tokens = 0;  ///< that an earlier prompt began with: what no layout can hit more of
  bool operator==(const WorkloadFacts&) const = default;
};

/// Reads the workload to its end. Throws InputError for an empty one; SpecError("limits.max_model_len") where every
/// request is refused for its length.
WorkloadFacts read_workload(TraceSource& trace, std::int64_t max_model_len);

}  // namespace hybridkv
