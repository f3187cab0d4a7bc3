#pragma once

#include <string_view>

#include "attention/simd_path.h"
#include "base/named_values.h"

namespace hybridkv {

/// Instructions that multiply and add: the type of the factors, and the vectors that they come in. Sums are of the same
/// type, those of bf16 of fp32.
enum class Arithmetic {
  fp64_plain,   ///< what the compiler makes of C++ for its baseline, two doubles at a time
  fp64_avx,     ///< four doubles at a time, products and sums apart
  fp32_plain,   ///< what the compiler makes of C++ for its baseline, four floats at a time
  fp32_avx2,    ///< FMA, 8 floats
  fp32_avx512,  ///< FMA, 16 floats
  bf16_avx512,  ///< VDPBF16PS, 16 sums of two products
  bf16_tiles,   ///< TDPBF16PS of AMX, tiles of 16 x 32 times 32 x 16
};

inline constexpr auto arithmetic_names = std::to_array<Named<Arithmetic>>({{Arithmetic::fp64_plain, "fp64 plain"},
                                                                          {Arithmetic::fp64_avx, "fp64 avx"},
                                                                          {Arithmetic::fp32_plain, "fp32 plain"},
                                                                          {Arithmetic::fp32_avx2, "fp32 avx2"},
                                                                          {Arithmetic::fp32_avx512, "fp32 avx512"},
                                                                          {Arithmetic::bf16_avx512, "bf16 avx512"},
                                                                          {Arithmetic::bf16_tiles, "bf16 tiles"}});
inline constexpr auto all_arithmetics = values_of(arithmetic_names);

constexpr std::string_view to_string(Arithmetic arithmetic) { return name_in(arithmetic_names, arithmetic); }

/// That of products of floats on a path.
constexpr Arithmetic float_arithmetic(SimdPath path) {
  switch (path) {
    case SimdPath::plain: return Arithmetic::fp32_plain;
    case SimdPath::avx2: return Arithmetic::fp32_avx2;
    case SimdPath::avx512:
    case SimdPath::avx512bf16:
    case SimdPath::amx: return Arithmetic::fp32_avx512;
  }
  return Arithmetic::fp32_plain;
}

}  // namespace hybridkv
