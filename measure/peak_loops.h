#pragma once

#include <cstdint>
#include <optional>

#include "measure/arithmetic.h"

namespace hybridkv {

/// So that the compiler takes a value for used, and from here on for one that it does not know.
template <class Value>
inline __attribute__((always_inline)) void keep(Value& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

/// What every product of a loop is, so that its sums tell how many there were.
inline constexpr double peak_product = 0.125;
/// Pairs of its factors in bf16: 0.5 and 0.25.
inline constexpr std::int32_t bf16_halves = 0x3f003f00, bf16_quarters = 0x3e803e80;

/// A loop of nothing but products and sums. Factors and sums stay in registers, more sums side by side than any
/// processor has products under way: no kernel of these instructions can be faster.
struct PeakLoop {
  double flops_of_step = 0;  ///< multiplications and additions
  /// Gives the total of all sums: behind one step peak_product for every two operations.
  double (*run)(std::int64_t steps) = nullptr;
};

/// Nothing where this processor lacks the instructions, or its system keeps their registers from us.
std::optional<PeakLoop> peak_loop(Arithmetic arithmetic);

}  // namespace hybridkv
