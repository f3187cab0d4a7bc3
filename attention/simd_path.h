#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/named_values.h"

namespace hybridkv {

/// The instruction sets a kernel exists for. Chosen at run time, so that one program runs on every x86-64.
enum class SimdPath {
  plain,   ///< what the compiler makes of C++ for its baseline
  avx2,    ///< AVX2, FMA and F16C
  avx512,  ///< AVX-512 F, BW, DQ and VL
  avx512bf16,  ///< the same and BF16: products of bfloat16 in pairs
  amx,         ///< the same and AMX TILE and BF16: products of bfloat16 in tiles
};

/// The slowest first.
inline constexpr auto simd_path_names = std::to_array<Named<SimdPath>>(
    {{SimdPath::plain, "plain"},
     {SimdPath::avx2, "avx2"},
     {SimdPath::avx512, "avx512"},
     {SimdPath::avx512bf16, "avx512bf16"},
     {SimdPath::amx, "amx"}});
inline constexpr auto all_simd_paths = values_of(simd_path_names);

constexpr std::string_view to_string(SimdPath path) { return name_in(simd_path_names, path); }
constexpr std::optional<SimdPath> parse_simd_path(std::string_view name) { return value_in(simd_path_names, name); }

/// Whether this processor (and its operating system) has the instructions. Asks for the registers of AMX.
bool is_available(SimdPath path);

/// Those of this processor, the fastest one last; never empty.
std::vector<SimdPath> available_simd_paths();

/// The last of them.
SimdPath best_simd_path();

}  // namespace hybridkv
