#include "verify/layout/canary.h"

#include <algorithm>
#include <cstring>

#include "base/random.h"

namespace hybridkv {

namespace {

/// Eight canary bytes at once. In each two of them the exponent of bf16, which holds that of fp16, is all ones, and the
/// lowest bit of the mantissa is set; read as fp8, the upper byte is all ones but for its sign.
std::uint64_t canary_word(std::int64_t pool, std::int64_t word) {
  return mix(static_cast<std::uint64_t>(pool) << 56 ^ static_cast<std::uint64_t>(word)) | 0x7f817f817f817f81u;
}

}  // namespace

std::byte canary_byte(std::int64_t pool, std::int64_t offset) {
  return static_cast<std::byte>(canary_word(pool, offset / 8) >> (offset % 8 * 8) & 0xff);
}

void fill_canary(std::span<std::byte> bytes, std::int64_t pool, std::int64_t offset) {
  const std::size_t head = std::min(bytes.size(), static_cast<std::size_t>((8 - offset % 8) % 8));
  for (std::size_t i = 0; i < head; ++i) bytes[i] = canary_byte(pool, offset + static_cast<std::int64_t>(i));
  const std::size_t whole = head + (bytes.size() - head) / 8 * 8;
  for (std::size_t i = head; i < whole; i += 8) {
    const std::uint64_t word = canary_word(pool, (offset + static_cast<std::int64_t>(i)) / 8);
    std::memcpy(bytes.data() + i, &word, 8);
  }
  for (std::size_t i = whole; i < bytes.size(); ++i)
    bytes[i] = canary_byte(pool, offset + static_cast<std::int64_t>(i));
}

}  // namespace hybridkv
