#pragma once

#include <cstdint>

namespace hybridkv {

/// A block of one arena's pool, 0 .. num_blocks - 1.
using BlockId = std::uint32_t;

/// Block 0: never handed out; stands in block tables where a position holds nothing.
inline constexpr BlockId null_block_id = 0;

}  // namespace hybridkv
