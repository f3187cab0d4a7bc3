#pragma once

#include <cstdint>

namespace hybridkv {

/// The largest divisor of `value` that is at most `limit`; takes at most sqrt(value) steps.
/// Pre: value >= 1, limit >= 1. Example: (2096, 300) -> 262.
std::int64_t largest_divisor_at_most(std::int64_t value, std::int64_t limit);

}  // namespace hybridkv
