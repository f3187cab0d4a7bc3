#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hybridkv {

/// Writes the words mix(key), mix(key + 1), …, in each the bits of `always` set as well; of the last word as many bytes
/// as are left. Several words at once where the processor can; the same bytes on every one.
void draw_words(std::uint64_t key, std::uint64_t always, std::span<std::byte> bytes);

/// Writes unit_value(key), unit_value(key + 1), …, in the same way.
void draw_unit_values(std::uint64_t key, std::span<float> values);

}  // namespace hybridkv
