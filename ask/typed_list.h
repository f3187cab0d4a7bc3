#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace hybridkv {

/// Were these values of a scenario, several of them, typed for the question? `path`: of the values in the scenario.
bool is_typed_list(const Scenario& scenario, const std::string& path, const std::vector<std::int64_t>& values);

/// Questions with one answer take one value. Several in a file are those of other questions, and such a question says
/// which it takes; who types several for it gets an error. `command`: one that answers for all of them.
/// Throws InputError with the flag.
void refuse_typed_list(const Scenario& scenario, const std::string& path, const std::vector<std::int64_t>& values,
                       const char* command);

}  // namespace hybridkv
