#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace hybridkv {

// Whatever nobody wrote is a NaN to whoever reads it: bytes of padding, of blocks that nobody holds, and of slots
// behind the last token of a block. A kernel that lets one of them into its result, if only times a weight of 0, is
// found out.

/// The byte that stands at an offset of a pool until somebody writes there; never 0. Every element of 2 or 4 bytes on a
/// multiple of its size is a NaN, whether bf16, fp16 or fp32, and so is every second one of a byte, whether fp8_e4m3 or
/// fp8_e5m2. Seven of 16 bits differ from place to place.
std::byte canary_byte(std::int64_t pool, std::int64_t offset);

/// Fills pool bytes [offset, offset + bytes.size()) with their canary.
void fill_canary(std::span<std::byte> bytes, std::int64_t pool, std::int64_t offset);

}  // namespace hybridkv
