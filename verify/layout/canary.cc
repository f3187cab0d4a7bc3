#include "verify/layout/canary.h"

#include <algorithm>

#include "base/random.h"
#include "verify/layout/drawn_words.h"

namespace hybridkv {

namespace {

/// Eight canary bytes at once. In each two of them the exponent of bf16, which holds that of fp16, is all ones, and the
/// lowest bit of the mantissa is set; read as fp8, the upper byte is all ones but for its sign.
constexpr std::uint64_t always_set = 0x7f817f817f817f81u;

/// What a word is drawn from; of neighbouring words numbers that follow each other, as a pool has less than 2^56.
std::uint64_t canary_key(std::int64_t pool, std::int64_t word) {
  return static_cast<std::uint64_t>(pool) << 56 ^ static_cast<std::uint64_t>(word);
}

}  // namespace

std::byte canary_byte(std::int64_t pool, std::int64_t offset) {
  return static_cast<std::byte>((mix(canary_key(pool, offset / 8)) | always_set) >> (offset % 8 * 8) & 0xff);
}

void fill_canary(std::span<std::byte> bytes, std::int64_t pool, std::int64_t offset) {
  const std::size_t head = std::min(bytes.size(), static_cast<std::size_t>((8 - offset % 8) % 8));
  for (std::size_t i = 0; i < head; ++i) bytes[i] = canary_byte(pool, offset + static_cast<std::int64_t>(i));
  const std::int64_t first = offset + static_cast<std::int64_t>(head);
  draw_words(canary_key(pool, first / 8), always_set, bytes.subspan(head));
}

}  // namespace hybridkv
