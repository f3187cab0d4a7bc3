#include <array>
#include <cmath>
#include <utility>

#include "attention/paged_kernel.h"
#include "attention/paged_kernels.h"
#include "base/convert.h"

namespace hybridkv {

namespace {

#define HYBRIDKV_TARGET

/// Four floats in plain C++; compilers turn the loops into vectors of their baseline. What every operation means for
/// the other instruction sets too.
struct Simd {
  struct Vector {
    float lane[4];
  };
  static constexpr std::int64_t lanes = 4;
  static constexpr int row_block = 4;       ///< most rows of queries whose sums fit the registers
  static constexpr int wide_rows = 1;       ///< most rows that leave room for wide columns
  static constexpr int sweep_keys = 4;      ///< keys that one vector of rows meets side by side, a multiple of four
  /// Whether add_pairs(a, b, c) is c plus the products of the two bf16 in every lane of a and b.
  static constexpr bool has_bf16_products = false;

  template <class Function>
  static Vector each(Function function) {
    Vector v;
    for (int i = 0; i < 4; ++i) v.lane[i] = function(i);
    return v;
  }

  static Vector zero() { return {}; }
  static Vector set(float value) { return {{value, value, value, value}}; }
  static Vector load(const float* from) { return {{from[0], from[1], from[2], from[3]}}; }
  static void store(float* to, Vector v) {
    for (int i = 0; i < 4; ++i) to[i] = v.lane[i];
  }
  /// a * b + c, in one rounding where the instruction set can.
  static Vector fma(Vector a, Vector b, Vector c) {
    return each([&](int i) { return a.lane[i] * b.lane[i] + c.lane[i]; });
  }
  static Vector add(Vector a, Vector b) { return each([&](int i) { return a.lane[i] + b.lane[i]; }); }
  static Vector sub(Vector a, Vector b) { return each([&](int i) { return a.lane[i] - b.lane[i]; }); }
  static Vector mul(Vector a, Vector b) { return each([&](int i) { return a.lane[i] * b.lane[i]; }); }
  static Vector div(Vector a, Vector b) { return each([&](int i) { return a.lane[i] / b.lane[i]; }); }
  /// b where one of them is NaN.
  static Vector max(Vector a, Vector b) {
    return each([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  /// To the nearest whole number.
  static Vector round(Vector v) {
    return each([&](int i) { return std::nearbyint(v.lane[i]); });
  }
  /// v * 2^n for whole n. Pre: the result is a normal number.
  static Vector exp2i(Vector v, Vector n) {
    return each([&](int i) {
      const auto shift = n.lane[i] == n.lane[i] ? static_cast<std::int32_t>(n.lane[i]) : 0;
      return bits_as<float>(bits_as<std::uint32_t>(v.lane[i]) + (static_cast<std::uint32_t>(shift) << 23));
    });
  }
  /// 0 where x < bound, else v.
  static Vector zero_below(Vector x, Vector bound, Vector v) {
    return each([&](int i) { return x.lane[i] < bound.lane[i] ? 0.0f : v.lane[i]; });
  }
  /// x where a < b, else y.
  static Vector less(Vector a, Vector b, Vector x, Vector y) {
    return each([&](int i) { return a.lane[i] < b.lane[i] ? x.lane[i] : y.lane[i]; });
  }
  static Vector absolute(Vector v) {
    return each([&](int i) { return std::fabs(v.lane[i]); });
  }
  static Vector copy_sign(Vector size, Vector sign) {
    return each([&](int i) { return std::copysign(size.lane[i], sign.lane[i]); });
  }
  /// v in the lanes [first, last), -inf elsewhere; the bounds may lie beyond the vector.
  static Vector keep_lanes(Vector v, std::int64_t first, std::int64_t last) {
    return each([&](int i) { return i >= first && i < last ? v.lane[i] : -__builtin_inff(); });
  }
  static float max_of(Vector v) {
    const Vector half = max(v, {{v.lane[2], v.lane[3], v.lane[2], v.lane[3]}});
    return half.lane[0] > half.lane[1] ? half.lane[0] : half.lane[1];
  }
  static float sum_of(Vector v) { return (v.lane[0] + v.lane[2]) + (v.lane[1] + v.lane[3]); }

  /// A vector of neighbouring elements, as `decode`.
  template <DType dtype>
  static Vector convert(const std::byte* from) {
    return each([&](int i) {
      CodeOf<dtype> code;
      __builtin_memcpy(&code, from + i * element_bytes(dtype), sizeof code);
      return decode<dtype>(code);
    });
  }

  /// The same four floats in every four lanes.
  static Vector repeat_four(const float* from) { return load(from); }
  /// Every four lanes: the sums of theirs of a, b, c and d, (v[0] + v[2]) + (v[1] + v[3]).
  static Vector sum_fours(Vector a, Vector b, Vector c, Vector d) {
    const auto sum = [](Vector v) { return (v.lane[0] + v.lane[2]) + (v.lane[1] + v.lane[3]); };
    return {{sum(a), sum(b), sum(c), sum(d)}};
  }
  /// Every four lanes to a row of their own, `stride` apart.
  static void store_fours(float* to, std::int64_t, Vector v) { store(to, v); }

  // Only where there are products of pairs of bf16:
  //   pair_weights(a, b)    the lanes of a, then of b, rounded to bf16: the first two in lane 0, and so on
  //   pair_values(a, b)     channels of bf16 of two keys: channel i of a and of b in lane i
  //   even_key(v)           v with 0 for the second of every pair
  //   odd_key(v)            v with 0 for the first

  /// The channels [first, last) of paged_panel_tokens rows of floats into (channel in class order, key).
  static void transpose(const std::byte* const* rows, std::int64_t offset, std::int64_t first, std::int64_t last,
                        std::int64_t steps, float* panel) {
    for (std::int64_t channel = first; channel < last; ++channel)
      for (std::int64_t key = 0; key < paged_panel_tokens; ++key)
        __builtin_memcpy(panel + class_place(channel, steps) * paged_panel_tokens + key,
                         rows[key] + offset + channel * 4, 4);
  }
};

#include "attention/paged_kernel_body.inc"

}  // namespace

const PagedKernel& paged_kernel_plain() { return kernel; }

}  // namespace hybridkv
