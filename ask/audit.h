#pragma once

#include <functional>
#include <string>

#include "audit/recording_file.h"

namespace hybridkv {

/// What a recording of a running cache shows (docs/audit.md).
struct AuditAnswer : OwnershipVerdict {
  std::string name;  ///< how messages call the recording
};

/// Audits a recording: a path, or "-" for standard input. `on_progress` gets per cent of the file.
/// Throws InputError with file and line for what is no recording.
AuditAnswer audit_cache(const std::string& path,
                        const std::function<void(std::int64_t lines, int percent)>& on_progress = {});

}  // namespace hybridkv
