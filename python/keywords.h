#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hybridkv {

/// The key of a scenario that a keyword of Python stands for: "tensor_parallel" is engine.tensor_parallel, "model" is
/// itself, and so is a key with dots. Of a name that several sections have, the first in the order engine, limits,
/// simulate, verify, workspace, then simulate.trace and simulate.cost. Throws InputError for any other, with what it
/// may have meant.
std::string key_of_keyword(std::string_view keyword);

/// All keywords, in the order of the sections.
std::vector<std::string> keywords();

}  // namespace hybridkv
