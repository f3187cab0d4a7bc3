#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ask/start/doctor.h"

namespace hybridkv {

/// Settings that a log leaves possible.
struct DoctorSettings {
  std::vector<Assignment> assignments;
  std::vector<std::string> assumed;  ///< what of it the log does not say and no default does
  std::size_t doubt = 0;             ///< how much of it is assumed: the least is tried first
};

/// All settings that the log leaves possible and the user does not rule out, those with the least doubt first:
/// releases, profiles, modes, element types, ranks, drafts, packs, and where steps_are_open their tokens.
std::vector<DoctorSettings> possible_settings(const DoctorQuestion& question, const ModelSpec& model);

/// Windows hold what a step computes, and neither log nor user says how many tokens that is at most: any number may be
/// meant, of which only the usual ones are tried.
bool steps_are_open(const DoctorQuestion& question, const ModelSpec& model);

}  // namespace hybridkv
