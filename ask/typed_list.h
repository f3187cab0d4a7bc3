#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace hybridkv {

/// Were several values typed on the command line for this setting? `path`: of the setting in the scenario.
bool is_typed_list(const Scenario& scenario, const std::string& path, const std::vector<std::int64_t>& values);

/// Refuses several typed values where a question has one answer. A file may hold several, which are meant for other
/// questions, and then the question says which of them it takes. `command`: one that answers for all values.
/// Throws InputError with the flag.
void refuse_typed_list(const Scenario& scenario, const std::string& path, const std::vector<std::int64_t>& values,
                       const char* command);

}  // namespace hybridkv
