#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace hybridkv {

/// What the controls of the page offer: {"models": names of those that are shipped, "gpus": [{name, total_bytes,
/// profile}], "keys": {"engine.release": {"doc", "values"}, …}, "causes": titles of the causes of losses}, of the keys
/// that the question lists as "keys".
std::string choices_answer(const nlohmann::ordered_json& question);

/// The numbers that `texts` say as values of the key `key`, in their order: {"key": "engine.memory", "texts": ["20GB",
/// "many"]} is [20000000000, null].
std::string amounts_answer(const nlohmann::ordered_json& question);

}  // namespace hybridkv
