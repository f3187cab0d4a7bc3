#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "ask/conform/conform_case.h"

namespace hybridkv {

/// What a driver is sent of a case: the layers of the model with their drafts, the setting, what the backends of its
/// profile declare, and the prompts. `id` comes back with the answer.
nlohmann::ordered_json conform_request(const ConformCase& one, std::int64_t id);

}  // namespace hybridkv
