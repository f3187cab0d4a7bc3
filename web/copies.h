#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace hybridkv {

/// The question once more, to be asked elsewhere: {"command": for a shell, "yaml": a scenario, "python": a call}. What
/// varies is compared, in "yaml" by `hybridkv compare FILE`; else, where a trace is named, it is replayed. Files that
/// were dropped go by their name. Throws InputError where a value is no YAML.
std::string copies_answer(const nlohmann::ordered_json& question);

}  // namespace hybridkv
