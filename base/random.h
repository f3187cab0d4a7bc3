#pragma once

#include <cstdint>

namespace hybridkv {

/// A well-mixed 64-bit value of a 64-bit key (splitmix64, Steele et al. 2014). Same key, same value, everywhere.
constexpr std::uint64_t mix(std::uint64_t key) {
  key += 0x9e3779b97f4a7c15u;
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
  return key ^ (key >> 31);
}

/// A key made of two.
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a) ^ b); }

/// A float in [-1, 1) with 24 random bits.
constexpr float unit_value(std::uint64_t key) {
  return static_cast<float>(static_cast<std::int64_t>(mix(key) >> 40)) * 0x1p-23f - 1.0f;
}

}  // namespace hybridkv
