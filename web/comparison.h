#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace hybridkv {

/// The settings of a question side by side, as `compare --format json` prints them; with "replay": true their traces
/// are replayed too. Each row has beside its values "texts", the values as people read them, and "symbols", what
/// web/derivation.h tells of them in that setting, "" where nothing is decided. Throws InputError as compare.
std::string compare_answer(const nlohmann::ordered_json& question);

}  // namespace hybridkv
