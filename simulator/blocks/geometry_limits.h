#pragma once

#include <cstdint>

namespace hybridkv {

// Far beyond any cache, and small enough that no sum of products of two of them leaves 64 bits.
inline constexpr std::int64_t most_cache_tokens = std::int64_t{1} << 40;
inline constexpr std::int64_t most_cache_blocks = std::int64_t{1} << 31;
inline constexpr std::int64_t most_cache_groups = 1 << 16;

/// Throws SpecError, path "geometry.FIELD", for a value outside [least, most].
void check_range(std::int64_t value, std::int64_t least, std::int64_t most, const char* field);

}  // namespace hybridkv
