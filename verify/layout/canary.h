#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace hybridkv {

/// The byte that stands at an offset of a pool until somebody writes there; never 0.
std::byte canary_byte(std::int64_t pool, std::int64_t offset);

/// Fills pool bytes [offset, offset + bytes.size()) with their canary.
void fill_canary(std::span<std::byte> bytes, std::int64_t pool, std::int64_t offset);

}  // namespace hybridkv
