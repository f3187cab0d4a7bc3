#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace hybridkv {

/// {"ask": "bars"} of settings that are compared, or of the question alone: {"settings": [{"name", "evidence",
/// "refused", "requests", "tokens", "bytes", "text", "parts": [{"name", "title", "bytes", "text", "symbols"}]}]}, the
/// memory of a rank of each with as many requests of the longest length as run at once. The symbols are those of
/// {"ask": "derivation", "full": true}.
std::string bars_answer(const nlohmann::ordered_json& question);

}  // namespace hybridkv
