#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace hybridkv {

/// The question once more, to be asked elsewhere: {"command": for a shell, "yaml": a scenario, "python": a call}. What
/// varies is compared; where a trace is named it is replayed.
std::string copies_answer(const nlohmann::ordered_json& question);

}  // namespace hybridkv
