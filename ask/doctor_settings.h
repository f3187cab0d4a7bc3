#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ask/doctor.h"

namespace hybridkv {

/// Settings that a log leaves possible.
struct DoctorSettings {
  std::vector<Assignment> assignments;
  std::vector<std::string> assumed;  ///< what of it the log does not say and no default does
  std::size_t doubt = 0;             ///< how much of it is assumed: the least is tried first
};

/// All settings that the log leaves possible and the user does not rule out, those with the least doubt first:
/// releases, profiles, modes, element types, ranks, drafts and packs.
std::vector<DoctorSettings> possible_settings(const DoctorQuestion& question);

}  // namespace hybridkv
