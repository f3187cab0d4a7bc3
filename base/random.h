#pragma once

#include <cstdint>

namespace hybridkv {

/// Puts a well-mixed 64-bit value in the place of a 64-bit key, or of each of several in a vector. Same key, same
/// value, everywhere. Source: splitmix64, Steele et al., 2014.
template <class Key>
[[gnu::always_inline]] constexpr void mix_in_place(Key& key) {
  key += 0x9e3779b97f4a7c15u;
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
  key ^= key >> 31;
}

/// The well-mixed value of a key.
constexpr std::uint64_t mix(std::uint64_t key) {
  mix_in_place(key);
  return key;
}

/// A key made of two.
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a) ^ b); }

/// A float in [-1, 1) with 24 random bits.
constexpr float unit_value(std::uint64_t key) {
  return static_cast<float>(static_cast<std::int64_t>(mix(key) >> 40)) * 0x1p-23f - 1.0f;
}

}  // namespace hybridkv
