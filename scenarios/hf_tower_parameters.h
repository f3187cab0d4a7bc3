#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "scenarios/hf_shape.h"

namespace hybridkv {

/// Parameters of a tower that sees, with what leads from it into the language model; nothing for a tower that no rule
/// is known of. `tower`: its section of the config; `around`: model_type of the whole, which the projector follows;
/// `hidden`: size of the language model.
/// Throws InputError for numbers too large for 64 bits.
std::optional<std::int64_t> hf_tower_parameters(const HfShape& tower, std::string_view around,
                                                std::int64_t hidden);

}  // namespace hybridkv
