#include "verify/layout/drawn_words.h"

#include <cstring>

#include "attention/simd_path.h"
#include "base/random.h"

namespace hybridkv {

namespace {

#if defined(__x86_64__)
constexpr std::size_t at_once = 8;
using EightWords = std::uint64_t __attribute__((vector_size(at_once * sizeof(std::uint64_t))));
using EightIntegers = std::int64_t __attribute__((vector_size(at_once * sizeof(std::int64_t))));
using EightValues = float __attribute__((vector_size(at_once * sizeof(float))));
// What calls no other function at its end clears the upper halves of registers, without which code for the baseline
// runs at a fraction of its speed afterwards.
#define HYBRIDKV_TARGET __attribute__((target("avx512f,avx512dq,avx512vl")))

HYBRIDKV_TARGET void eights_of_words(std::uint64_t key, std::uint64_t always, std::byte* to, std::size_t eights) {
  EightWords keys = EightWords{0, 1, 2, 3, 4, 5, 6, 7} + key;
  for (std::size_t i = 0; i < eights; ++i, keys += at_once) {
    EightWords words = keys;
    mix_in_place(words);
    words |= always;
    std::memcpy(to + i * sizeof words, &words, sizeof words);
  }
}

HYBRIDKV_TARGET void eights_of_values(std::uint64_t key, float* to, std::size_t eights) {
  EightWords keys = EightWords{0, 1, 2, 3, 4, 5, 6, 7} + key;
  for (std::size_t i = 0; i < eights; ++i, keys += at_once) {
    EightWords words = keys;
    mix_in_place(words);
    // As unit_value: a product by a power of two is exact, so that it does not matter whether it is fused with the sum.
    const EightValues values =
        __builtin_convertvector(EightIntegers(words >> 40), EightValues) * 0x1p-23f - 1.0f;
    std::memcpy(to + i * at_once, &values, sizeof values);
  }
}
#undef HYBRIDKV_TARGET

/// How many eights of so many are drawn eight at a time; none where the processor cannot.
std::size_t eights_of(std::size_t count) {
  static const bool has_wide_products = is_available(SimdPath::avx512);
  return has_wide_products ? count / at_once : 0;
}
#endif

}  // namespace

void draw_words(std::uint64_t key, std::uint64_t always, std::span<std::byte> bytes) {
  constexpr std::size_t size = sizeof(std::uint64_t);
  std::size_t done = 0;
#if defined(__x86_64__)
  const std::size_t eights = eights_of(bytes.size() / size);
  if (eights > 0) eights_of_words(key, always, bytes.data(), eights);
  done = eights * at_once;
#endif
  for (; done * size < bytes.size(); ++done) {
    const std::uint64_t word = mix(key + done) | always;
    const std::size_t left = bytes.size() - done * size;
    if (left >= size) std::memcpy(bytes.data() + done * size, &word, size);
    else std::memcpy(bytes.data() + done * size, &word, left);
  }
}

void draw_unit_values(std::uint64_t key, std::span<float> values) {
  std::size_t done = 0;
#if defined(__x86_64__)
  const std::size_t eights = eights_of(values.size());
  if (eights > 0) eights_of_values(key, values.data(), eights);
  done = eights * at_once;
#endif
  for (; done < values.size(); ++done) values[done] = unit_value(key + done);
}

}  // namespace hybridkv
