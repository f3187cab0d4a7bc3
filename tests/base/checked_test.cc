#include "base/checked.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <limits>
#include <string>

namespace hybridkv {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();

TEST_CASE("law: arithmetic equals 128-bit arithmetic or throws, whatever operand is checked") {
  __extension__ using Wide = __int128;
  const auto agrees = [](Wide exact, const auto& compute) {
    try {
      return static_cast<Wide>(static_cast<std::int64_t>(compute())) == exact;
    } catch (const InputError&) {
      return exact > static_cast<Wide>(largest) || exact < static_cast<Wide>(lowest);
    }
  };
  CHECK(rc::check("checked arithmetic", [&] {
    const auto shift_a = *rc::gen::inRange(0, 63), shift_b = *rc::gen::inRange(0, 63);
    const std::int64_t a = *rc::gen::arbitrary<std::int64_t>() >> shift_a;
    const std::int64_t b = *rc::gen::arbitrary<std::int64_t>() >> shift_b;
    const auto wide_a = static_cast<Wide>(a), wide_b = static_cast<Wide>(b);
    RC_ASSERT(agrees(wide_a + wide_b, [&] { return Checked(a) + b; }));
    RC_ASSERT(agrees(wide_a - wide_b, [&] { return a - Checked(b); }));
    RC_ASSERT(agrees(wide_a * wide_b, [&] { return Checked(a) * Checked(b); }));
    RC_ASSERT(agrees(wide_a * wide_b, [&] { return a * Checked(b); }));
    RC_ASSERT(agrees(wide_a + wide_b, [&] { Checked sum = a; return sum += b; }));
    RC_ASSERT(agrees(wide_a - wide_b, [&] { Checked rest = a; return rest -= b; }));
    RC_ASSERT(agrees(wide_a * wide_b, [&] { Checked product = a; return product *= b; }));
  }));
}

TEST_CASE("edge: overflow names both operands") {
  CHECK_THROWS_WITH_AS(Checked(largest) + 1, "number too large for 64 bits: 9223372036854775807 + 1", InputError);
  CHECK_THROWS_WITH_AS(Checked(lowest) - 1, "number too large for 64 bits: -9223372036854775808 - 1", InputError);
  CHECK_THROWS_WITH_AS(Checked(4611686018427387904) * 2, "number too large for 64 bits: 4611686018427387904 * 2",
                       InputError);
  CHECK(Checked(largest) + 0 == largest);
  CHECK(Checked(largest) - largest == 0);
}

TEST_CASE("law: ceil_div is the smallest sufficient quotient, round_up the smallest sufficient multiple") {
  static_assert(ceil_div(0, 3) == 0 && ceil_div(7, 3) == 3 && ceil_div(largest, 1) == largest);
  static_assert(round_up(2134016, 1024 * 16) == 2146304);
  for (std::int64_t value = 0; value < 60; ++value)
    for (std::int64_t divisor = 1; divisor < 20; ++divisor) {
      const std::int64_t quotient = ceil_div(value, divisor);
      CHECK(quotient * divisor >= value);
      CHECK((quotient - 1) * divisor < value);
      CHECK(round_up(value, divisor) == quotient * divisor);
    }
  CHECK(ceil_div(largest, 2) == largest / 2 + 1);
  CHECK_THROWS_AS(round_up(largest, 1 << 20), InputError);
}

TEST_CASE("law: the least common multiple is a multiple of both and none is smaller") {
  static_assert(checked_lcm(128, 16) == 128 && checked_lcm(256, 24) == 768);
  for (std::int64_t a = 1; a < 30; ++a)
    for (std::int64_t b = 1; b < 30; ++b) {
      std::int64_t expected = a;
      while (expected % b != 0) expected += a;
      CHECK(checked_lcm(a, b) == expected);
    }
  CHECK(checked_lcm(largest, largest) == largest);
  CHECK_THROWS_AS(checked_lcm(largest, largest - 1), InputError);
}

TEST_CASE("edge: the divisors of a number as text") {
  CHECK(divisors_text(1) == "1");
  CHECK(divisors_text(16) == "1, 2, 4, 8, 16");
  CHECK(divisors_text(13) == "1, 13");
  CHECK(divisors_text(1 << 23).ends_with(", 262144, 524288, …, 8388608"));
  CHECK(divisors_text(5040).ends_with(", 40, 42, …, 5040"));
  CHECK(divisors_text(largest) == "1, 7, 49, 73, 127, 337, 511, 889, 2359, 3577, 6223, 9271, 16513, 24601, 42799, "
                                  "64897, 92737, 172207, 299593, 454279, 649159, 649657, …, 9223372036854775807");
}

}  // namespace
}  // namespace hybridkv
