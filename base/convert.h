#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "base/dtype.h"

namespace hybridkv {

/// The same bits as another type: std::bit_cast, which the library of the page's compiler has not.
template <class To, class From>
constexpr To bits_as(const From& from) {
#ifdef __cpp_lib_bit_cast
  return std::bit_cast<To>(from);
#else
  return __builtin_bit_cast(To, from);
#endif
}

/// A binary floating-point format narrower than fp32, as IEEE 754 or OCP 8-bit floating point (OFP8) define it.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;  ///< false: the top exponent holds numbers too, and only all ones is NaN (e4m3)
  bool saturates;     ///< what lies beyond the largest finite number, infinity included, becomes that number

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
  constexpr std::uint32_t sign_mask() const { return 1u << (exponent_bits + mantissa_bits); }
  constexpr std::uint32_t infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
  constexpr std::uint32_t largest_finite() const { return has_infinity ? infinity() - 1 : sign_mask() - 2; }
};

inline constexpr FloatFormat fp16_format{5, 10, true, false};
inline constexpr FloatFormat bf16_format{8, 7, true, false};
inline constexpr FloatFormat fp8_e4m3_format{4, 3, false, true};  ///< OCP e4m3 ("e4m3fn"): largest 448
inline constexpr FloatFormat fp8_e5m2_format{5, 2, true, true};   ///< OCP e5m2: largest 57344

/// Value of a code; exact. NaN keeps its sign and, where the format has one, its payload.
template <FloatFormat format>
constexpr float widen(std::uint32_t code) {
  constexpr int shift = 23 - format.mantissa_bits;
  constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - format.bias()) << 23;
  const std::uint32_t sign = (code & format.sign_mask()) << (32 - format.bits());
  const std::uint32_t magnitude = code & (format.sign_mask() - 1);
  if constexpr (rebias == 0) {
    return bits_as<float>(sign | magnitude << shift);
  } else {
    std::uint32_t bits = (magnitude << shift) + rebias;
    if (magnitude < (1u << format.mantissa_bits)) {
      // Subnormal: give it the hidden bit of the smallest normal number and take that off again, which is exact.
      constexpr std::uint32_t hidden = rebias + (1u << 23);
      bits = bits_as<std::uint32_t>(bits_as<float>((magnitude << shift) + hidden) -
                                          bits_as<float>(hidden));
    }
    if (magnitude > format.largest_finite()) bits |= 0x7f800000u;
    return bits_as<float>(sign | bits);
  }
}

/// Code of the nearest number of the format, ties to the even code. Too large numbers become infinity, or the
/// largest finite number in a format that saturates. NaN stays NaN with its sign and as much of its payload
/// as fits, so widening and narrowing again gives the same code.
template <FloatFormat format>
constexpr std::uint32_t narrow(float value) {
  constexpr int shift = 23 - format.mantissa_bits;
  constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - format.bias()) << 23;
  const std::uint32_t bits = bits_as<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> (32 - format.bits())) & format.sign_mask();
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    const std::uint32_t payload = (magnitude & 0x7fffffu) >> shift;
    const std::uint32_t quiet = 1u << (format.mantissa_bits - 1);
    if constexpr (!format.has_infinity) return sign | (format.sign_mask() - 1);
    return sign | format.infinity() | (payload != 0 ? payload : quiet);
  }
  std::uint32_t code = 0;
  if (rebias != 0 && magnitude < rebias + (1u << 23)) {
    // Below the smallest normal number: adding a number whose last place is the format's smallest step lets
    // the addition itself round to nearest even (the rounding mode every program starts in).
    constexpr float step_carrier =
        bits_as<float>(static_cast<std::uint32_t>(127 + 24 - format.bias() - format.mantissa_bits) << 23);
    code = bits_as<std::uint32_t>(bits_as<float>(magnitude) + step_carrier) -
           bits_as<std::uint32_t>(step_carrier);
  } else {
    const std::uint32_t scaled = magnitude - rebias;
    code = (scaled + ((1u << (shift - 1)) - 1) + ((scaled >> shift) & 1u)) >> shift;
  }
  if (code > format.largest_finite()) code = format.saturates ? format.largest_finite() : format.infinity();
  return sign | code;
}

/// Nearest integer of the type, ties to even, saturated; 0 for NaN.
template <class Integer>
constexpr Integer narrow_to_integer(float value) {
  constexpr auto lowest = static_cast<float>(std::numeric_limits<Integer>::min());
  constexpr auto largest = static_cast<float>(std::numeric_limits<Integer>::max());
  if (value != value) return 0;
  if (value <= lowest) return std::numeric_limits<Integer>::min();
  if (value >= largest) return std::numeric_limits<Integer>::max();
  // At magnitudes from 2^23 to 2^24 neighbouring floats lie 1 apart: the addition rounds.
  constexpr float unit_carrier = 12582912.0f;
  return static_cast<Integer>((value + unit_carrier) - unit_carrier);
}

/// How an element of this type is stored: an unsigned bit pattern, or the integer itself.
template <DType dtype>
using CodeOf = std::conditional_t<
    dtype == DType::fp32, std::uint32_t,
    std::conditional_t<dtype == DType::fp16 || dtype == DType::bf16, std::uint16_t,
                       std::conditional_t<dtype == DType::int8, std::int8_t, std::uint8_t>>>;

/// Value of a stored element as float; exact for every type.
template <DType dtype>
constexpr float decode(CodeOf<dtype> code) {
  if constexpr (dtype == DType::fp32) return bits_as<float>(code);
  else if constexpr (dtype == DType::fp16) return widen<fp16_format>(code);
  else if constexpr (dtype == DType::bf16) return widen<bf16_format>(code);
  else if constexpr (dtype == DType::fp8_e4m3) return widen<fp8_e4m3_format>(code);
  else if constexpr (dtype == DType::fp8_e5m2) return widen<fp8_e5m2_format>(code);
  else return static_cast<float>(code);
}

/// Stored form of a value: rounded to nearest even; fp8 and integers saturate, fp16 and bf16 overflow to
/// infinity; NaN stays NaN (0 in integers). Source: IEEE 754; OCP OFP8 with saturation, as engines write caches.
template <DType dtype>
constexpr CodeOf<dtype> encode(float value) {
  using Code = CodeOf<dtype>;
  if constexpr (dtype == DType::fp32) return bits_as<Code>(value);
  else if constexpr (dtype == DType::fp16) return static_cast<Code>(narrow<fp16_format>(value));
  else if constexpr (dtype == DType::bf16) return static_cast<Code>(narrow<bf16_format>(value));
  else if constexpr (dtype == DType::fp8_e4m3) return static_cast<Code>(narrow<fp8_e4m3_format>(value));
  else if constexpr (dtype == DType::fp8_e5m2) return static_cast<Code>(narrow<fp8_e5m2_format>(value));
  else return narrow_to_integer<Code>(value);
}

/// Calls `function.operator()<dtype>()` for a type known at run time only; what kernels are instantiated with.
template <class Function>
constexpr decltype(auto) with_dtype(DType dtype, Function&& function) {
  switch (dtype) {
    case DType::fp32: return function.template operator()<DType::fp32>();
    case DType::fp16: return function.template operator()<DType::fp16>();
    case DType::bf16: return function.template operator()<DType::bf16>();
    case DType::fp8_e4m3: return function.template operator()<DType::fp8_e4m3>();
    case DType::fp8_e5m2: return function.template operator()<DType::fp8_e5m2>();
    case DType::int8: return function.template operator()<DType::int8>();
    case DType::uint8: return function.template operator()<DType::uint8>();
  }
  throw std::logic_error("an element type outside its enumeration");
}

/// Values of neighbouring elements, as `decode`. Any alignment. Pre: `from` holds values.size() elements.
void load_elements(const std::byte* from, DType dtype, std::span<float> values);

/// Stores values as neighbouring elements, as `encode`. Any alignment. Pre: `to` has room for values.size() elements.
void store_elements(std::byte* to, DType dtype, std::span<const float> values);

/// Replaces every value by the one it would be read back as.
void round_elements(DType dtype, std::span<float> values);

}  // namespace hybridkv
