#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace hybridkv {

/// Questions with one answer take one value. Several in a file are those of other questions, and such a question says
/// which it takes; who types several for it gets an error. `path`: of the values in the scenario; `command`: one that
/// answers for all of them.
/// Throws InputError with the flag.
void refuse_typed_list(const Scenario& scenario, const std::string& path, const std::vector<std::int64_t>& values,
                       const char* command);

}  // namespace hybridkv
