#pragma once

#include "ask/start/doctor.h"

namespace hybridkv {

/// Does the user say which requests the engine had?
bool has_trace(const DoctorQuestion& question);

/// Replays them through the cache that explains the log, and through those of other settings. Throws InputError where
/// the log does not say how large its cache is, and as `simulate`.
LogReplay replay_log(const DoctorQuestion& question, const ScenarioFile& file, const Explanation& explained);

}  // namespace hybridkv
