#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/number_text.h"

namespace hybridkv {

/// Layer or group numbers, none negative. Up to six in full: "3, 7, 11". More of them, evenly spaced, as "0 to 31" or
/// "3 to 59 by 4"; any others shortened to the first four, the last and how many there are:
/// "0, 1, 2, 4, ..., 58 (45 in all)".
std::string human_list(std::span<const std::int64_t> values);

}  // namespace hybridkv
