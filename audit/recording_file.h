#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "audit/finding.h"
#include "audit/owned_cache.h"
#include "audit/recording.h"

namespace hybridkv {

/// What a recording shows.
struct OwnershipVerdict {
  Recording recording;
  OwnershipCounts counts;
  std::vector<OwnershipFinding> findings;  ///< in the order of the recording, the first `most_kept` of them
  std::int64_t num_findings = 0;

  static constexpr std::int64_t most_kept = 1000;
  bool is_right() const { return num_findings == 0; }
};

/// Audits a recording: a file, plain or compressed, or "-" for standard input. `on_progress`: lines read, and the share
/// of the file; called every few thousand lines.
/// Throws InputError with file and line for what is no recording or contradicts itself, and for one without any step.
OwnershipVerdict audit_recording(const std::string& path,
                                 const std::function<void(std::int64_t lines, double fraction)>& on_progress = {});

}  // namespace hybridkv
