#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ask/start/boot.h"
#include "ask/start/doctor.h"

namespace hybridkv {

/// Why the start of a log failed, and what would start in the same memory; nothing where it did not fail. What the log
/// says of it and cannot be is added to `contradictions`.
std::optional<StartFailure> start_failure(const DoctorQuestion& question, const ScenarioFile& file,
                                          const Explanation& explained, std::vector<std::string>& contradictions);

}  // namespace hybridkv
