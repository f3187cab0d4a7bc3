#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention/backend_comparison.h"
#include "attention/memory_report.h"
#include "report/format.h"

namespace hybridkv {

/// What one run of `attend` did.
struct AttendReport {
  std::string folder;              ///< where out.npy and lse.npy were written
  std::int64_t requests = 0;
  std::int64_t query_tokens = 0;
  std::int64_t shared_blocks = 0;  ///< cached blocks that several query tokens see
  std::int64_t unique_blocks = 0;  ///< cached blocks that one query token sees
  std::vector<BackendComparison> backends;  ///< every other backend beside what unified computed
  MemoryReport memory;             ///< biases and scratch, as measured
};

/// `attend --format FORMAT`: what was computed and one row per bias with its shape and bytes.
std::string render_attend(const AttendReport& report, Format format, const Style& style = {});

}  // namespace hybridkv
