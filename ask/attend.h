#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention/backend_comparison.h"
#include "attention/memory_report.h"
#include "attention/unified.h"
#include "base/output_file.h"

namespace hybridkv {

/// A batch to attend to, as a folder of NumPy files (verify/attention_case.h).
struct AttendQuestion {
  std::string folder;
  std::string output_folder;  ///< for out.npy and lse.npy; empty: `folder`
  Overwrite overwrite = Overwrite::no;  ///< of results that are there
  bool in_float64 = false;
  UnifiedOptions unified;
};

/// What one run did.
struct AttendAnswer {
  std::string folder;              ///< where out.npy and lse.npy were written
  std::int64_t requests = 0;
  std::int64_t query_tokens = 0;
  std::int64_t shared_blocks = 0;  ///< cached blocks that several query tokens see
  std::int64_t unique_blocks = 0;  ///< cached blocks that one query token sees
  std::vector<BackendComparison> backends;  ///< every other backend beside what unified computed
  MemoryReport memory;             ///< biases and scratch, as measured
};

/// Reads the batch, runs unified attention on it and writes the result. Throws as load_attention_case and OutputFile;
/// InputError for a folder to write to that is none, or where the result would take the place of what is read or, not
/// forced, of anything else.
AttendAnswer attend(const AttendQuestion& question);

}  // namespace hybridkv
