#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace hybridkv {

/// {"gpu", "utilization", "weights"} beside the fields of PageQuestion as {"memory_bytes", "text"}: what an engine
/// leaves to the cache of one GPU, in bytes and in words. Without weights they are counted from the model's parameters.
/// Throws InputError for an unknown GPU, where the parameters are not known, and where nothing is left.
std::string budget_answer(const nlohmann::ordered_json& question);

}  // namespace hybridkv
