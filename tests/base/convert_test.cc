#include "base/convert.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace hybridkv {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float quiet_nan = std::numeric_limits<float>::quiet_NaN();

/// A narrow float written out from the definition of its format: every finite value in ascending order, the
/// code being the index. Shares nothing with the conversions under test.
struct FormatRef {
  DType dtype;
  int exponent_bits;
  int mantissa_bits;
  std::vector<double> values;  ///< finite values with sign 0, by code
  bool saturates;

  FormatRef(DType type, int exponents, int mantissas, std::size_t num_finite, bool saturating)
      : dtype(type), exponent_bits(exponents), mantissa_bits(mantissas), saturates(saturating) {
    const int bias = (1 << (exponents - 1)) - 1;
    for (std::size_t code = 0; code < num_finite; ++code) {
      const int exponent = static_cast<int>(code >> mantissas);
      const double fraction = std::ldexp(static_cast<double>(code % (1u << mantissas)), -mantissas);
      values.push_back(exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias));
    }
  }
  std::uint32_t sign_bit() const { return 1u << (exponent_bits + mantissa_bits); }

  /// Code of a value that is not NaN, by search over the table.
  std::uint32_t nearest(float value) const {
    const std::uint32_t sign = std::signbit(value) ? sign_bit() : 0;
    const double magnitude = std::fabs(static_cast<double>(value));
    const auto above = std::lower_bound(values.begin(), values.end(), magnitude);
    if (above == values.end()) {
      const double top_step = values.back() - values[values.size() - 2];
      const bool stays_finite = saturates || magnitude < values.back() + top_step / 2;
      return sign | static_cast<std::uint32_t>(stays_finite ? values.size() - 1 : values.size());
    }
    const auto upper = static_cast<std::uint32_t>(above - values.begin());
    if (upper == 0 || *above == magnitude) return sign | upper;
    const double to_upper = *above - magnitude, to_lower = magnitude - values[upper - 1];
    if (to_upper == to_lower) return sign | (upper % 2 == 0 ? upper : upper - 1);
    return sign | (to_upper < to_lower ? upper : upper - 1);
  }
};

const std::vector<FormatRef>& formats() {
  static const std::vector<FormatRef> all{{DType::fp16, 5, 10, 0x7c00, false},
                                          {DType::bf16, 8, 7, 0x7f80, false},
                                          {DType::fp8_e4m3, 4, 3, 0x7f, true},
                                          {DType::fp8_e5m2, 5, 2, 0x7c, true}};
  return all;
}

std::uint32_t encode_any(DType dtype, float value) {
  return with_dtype(dtype, [&]<DType type>() { return static_cast<std::uint32_t>(encode<type>(value)); });
}
float decode_any(DType dtype, std::uint32_t code) {
  return with_dtype(dtype, [&]<DType type>() { return decode<type>(static_cast<CodeOf<type>>(code)); });
}

/// Whether both agree with the table on a value, its neighbours and their negatives.
bool agrees_around(const FormatRef& format, float value) {
  for (const float near : {value, std::nextafter(value, infinity), std::nextafter(value, -infinity)})
    for (const float signed_value : {near, -near})
      if (encode_any(format.dtype, signed_value) != format.nearest(signed_value)) return false;
  return true;
}

TEST_CASE("law: every code has the value its format's definition gives") {
  for (const FormatRef& format : formats()) {
    CAPTURE(to_string(format.dtype));
    for (std::uint32_t code = 0; code < format.values.size(); ++code) {
      REQUIRE(static_cast<double>(decode_any(format.dtype, code)) == format.values[code]);
      REQUIRE(static_cast<double>(decode_any(format.dtype, code | format.sign_bit())) == -format.values[code]);
      REQUIRE(std::signbit(decode_any(format.dtype, code | format.sign_bit())));
    }
  }
}

TEST_CASE("law: every code round-trips, NaN payloads included") {
  for (const FormatRef& format : formats()) {
    CAPTURE(to_string(format.dtype));
    for (std::uint32_t code = 0; code < 2 * format.sign_bit(); ++code) {
      const float value = decode_any(format.dtype, code);
      const bool saturated = std::isinf(value) && format.saturates;
      const std::uint32_t expected = saturated ? code - 1 : code;
      REQUIRE(encode_any(format.dtype, value) == expected);
    }
  }
  for (std::uint32_t code = 0; code < 256; ++code) {
    CHECK(encode<DType::uint8>(decode<DType::uint8>(static_cast<std::uint8_t>(code))) == code);
    CHECK(encode<DType::int8>(decode<DType::int8>(static_cast<std::int8_t>(code))) == static_cast<std::int8_t>(code));
  }
}

TEST_CASE("edge: codes past the finite ones are infinity and NaN as the format says") {
  CHECK(decode<DType::fp16>(0x7c00) == infinity);
  CHECK(decode<DType::bf16>(0xff80) == -infinity);
  CHECK(decode<DType::fp8_e5m2>(0x7c) == infinity);
  for (const FormatRef& format : formats()) {
    CAPTURE(to_string(format.dtype));
    const bool has_infinity = format.dtype != DType::fp8_e4m3;
    const auto first_nan = static_cast<std::uint32_t>(format.values.size() + has_infinity);
    for (std::uint32_t code = first_nan; code < format.sign_bit(); ++code) {
      REQUIRE(std::isnan(decode_any(format.dtype, code)));
      REQUIRE(std::isnan(decode_any(format.dtype, code | format.sign_bit())));
    }
    CHECK(std::isnan(decode_any(format.dtype, encode_any(format.dtype, quiet_nan))));
    const float low_payload = std::bit_cast<float>(0xff800001u);
    const std::uint32_t code = encode_any(format.dtype, low_payload);
    CHECK(std::isnan(decode_any(format.dtype, code)));
    CHECK((code & format.sign_bit()) != 0);
  }
}

TEST_CASE("law: every midpoint of neighbours goes to the even code, and its neighbours to the nearer one") {
  for (const FormatRef& format : formats()) {
    CAPTURE(to_string(format.dtype));
    for (std::size_t code = 0; code + 1 < format.values.size(); ++code) {
      const double middle = (format.values[code] + format.values[code + 1]) / 2;
      REQUIRE(static_cast<double>(static_cast<float>(middle)) == middle);
      REQUIRE((format.nearest(static_cast<float>(middle)) & 1u) == 0);
      REQUIRE(agrees_around(format, static_cast<float>(middle)));
      REQUIRE(agrees_around(format, static_cast<float>(format.values[code])));
    }
  }
}

TEST_CASE("law: fp32 patterns of every exponent are stored as the nearest value of the table") {
  for (const FormatRef& format : formats()) {
    CAPTURE(to_string(format.dtype));
    for (std::uint64_t pattern = 0; pattern < 0x7f800000u; pattern += 9973)
      REQUIRE(agrees_around(format, std::bit_cast<float>(static_cast<std::uint32_t>(pattern))));
    CHECK(rc::check("random patterns", [&] {
      const auto value = std::bit_cast<float>(*rc::gen::arbitrary<std::uint32_t>());
      RC_PRE(!std::isnan(value));
      RC_ASSERT(encode_any(format.dtype, value) == format.nearest(value));
    }));
  }
}

TEST_CASE("edge: largest values, saturation and overflow") {
  CHECK(decode<DType::fp8_e4m3>(encode<DType::fp8_e4m3>(1e9f)) == 448.0f);
  CHECK(decode<DType::fp8_e4m3>(encode<DType::fp8_e4m3>(-infinity)) == -448.0f);
  CHECK(decode<DType::fp8_e5m2>(encode<DType::fp8_e5m2>(61440.0f)) == 57344.0f);
  CHECK(decode<DType::fp8_e5m2>(encode<DType::fp8_e5m2>(infinity)) == 57344.0f);
  CHECK(decode<DType::fp16>(encode<DType::fp16>(65519.996f)) == 65504.0f);
  CHECK(decode<DType::fp16>(encode<DType::fp16>(65520.0f)) == infinity);
  CHECK(decode<DType::bf16>(encode<DType::bf16>(std::numeric_limits<float>::max())) == infinity);
  CHECK(decode<DType::fp16>(encode<DType::fp16>(5.9604645e-8f)) == 5.9604645e-8f);
}

TEST_CASE("law: integers are rounded to nearest even and saturate, NaN is 0") {
  for (int quarter = -4 * 300; quarter <= 4 * 300; ++quarter) {
    const float value = static_cast<float>(quarter) / 4;
    const double rounded = std::nearbyint(static_cast<double>(value));
    REQUIRE(encode<DType::int8>(value) == static_cast<int>(std::clamp(rounded, -128.0, 127.0)));
    REQUIRE(encode<DType::uint8>(value) == static_cast<int>(std::clamp(rounded, 0.0, 255.0)));
  }
  CHECK(encode<DType::int8>(quiet_nan) == 0);
  CHECK(encode<DType::uint8>(quiet_nan) == 0);
  CHECK(encode<DType::int8>(-infinity) == -128);
  CHECK(encode<DType::uint8>(infinity) == 255);
}

TEST_CASE("law: conversions are constant expressions with the same results") {
  static_assert(encode<DType::bf16>(1.00390625f) == 0x3f80);   // tie, even below
  static_assert(encode<DType::bf16>(1.01171875f) == 0x3f82);   // tie, even above
  static_assert(encode<DType::fp16>(5.9604645e-8f) == 1);      // smallest subnormal
  static_assert(encode<DType::fp8_e4m3>(464.0f) == 0x7e);      // beyond 448: saturates
  static_assert(decode<DType::fp8_e4m3>(0x01) == 0.001953125f);
  static_assert(decode<DType::fp8_e5m2>(0x7b) == 57344.0f);
  static_assert(encode<DType::int8>(2.5f) == 2);
  static_assert(decode<DType::fp32>(encode<DType::fp32>(0.1f)) == 0.1f);
}

TEST_CASE("law: bulk conversion equals the conversion of each element, at any alignment") {
  CHECK(rc::check("bulk", [] {
    const auto dtype = *rc::gen::elementOf(std::vector<DType>(std::begin(all_dtypes), std::end(all_dtypes)));
    const auto patterns = *rc::gen::arbitrary<std::vector<std::uint32_t>>();
    const auto shift = *rc::gen::inRange<std::size_t>(0, 4);
    std::vector<float> values;
    for (const std::uint32_t pattern : patterns) values.push_back(std::bit_cast<float>(pattern));
    const auto width = static_cast<std::size_t>(element_bytes(dtype));
    std::vector<std::byte> memory(shift + values.size() * width + 1, std::byte{0x5a});
    store_elements(memory.data() + shift, dtype, values);
    RC_ASSERT(memory.back() == std::byte{0x5a});
    std::vector<float> loaded(values.size());
    load_elements(memory.data() + shift, dtype, loaded);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float expected = decode_any(dtype, encode_any(dtype, values[i]));
      RC_ASSERT(std::bit_cast<std::uint32_t>(loaded[i]) == std::bit_cast<std::uint32_t>(expected));
    }
  }));
}

}  // namespace
}  // namespace hybridkv
