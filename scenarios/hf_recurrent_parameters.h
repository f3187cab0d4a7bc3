#pragma once

#include <cstdint>
#include <string_view>

#include "scenarios/hf_shape.h"

namespace hybridkv {

/// Parameters of the recurrent part of one layer: projections, convolutions, decays and gates. `family`: its type in
/// the model file, "gdn"; `kind`: that kind, null where it has none.
/// Throws InputError for numbers too large for 64 bits.
std::int64_t hf_recurrent_parameters(const HfShape& layer, std::string_view family, const YamlNode* kind);

}  // namespace hybridkv
