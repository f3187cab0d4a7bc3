#pragma once

#include <cstdint>
#include <numeric>
#include <string>

#include "base/error.h"

namespace hybridkv {

/// A 64-bit size whose arithmetic throws InputError instead of wrapping round.
///
/// Converts from and to std::int64_t freely, so a formula reads as it is written in the rules:
/// `Checked block = A * ceil_div(M, Checked(A) * a1)`. One Checked operand makes an operation checked.
class Checked {
 public:
  constexpr Checked(std::int64_t value) : value_(value) {}
  constexpr operator std::int64_t() const { return value_; }

  friend constexpr Checked operator+(Checked a, Checked b) {
    std::int64_t result = 0;
    if (__builtin_add_overflow(a.value_, b.value_, &result)) overflow(a.value_, "+", b.value_);
    return result;
  }
  friend constexpr Checked operator-(Checked a, Checked b) {
    std::int64_t result = 0;
    if (__builtin_sub_overflow(a.value_, b.value_, &result)) overflow(a.value_, "-", b.value_);
    return result;
  }
  friend constexpr Checked operator*(Checked a, Checked b) {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(a.value_, b.value_, &result)) overflow(a.value_, "*", b.value_);
    return result;
  }
  template <class T>
    requires std::is_integral_v<T>
  friend constexpr Checked operator+(Checked a, T b) { return a + Checked(static_cast<std::int64_t>(b)); }
  template <class T>
    requires std::is_integral_v<T>
  friend constexpr Checked operator+(T a, Checked b) { return Checked(static_cast<std::int64_t>(a)) + b; }
  template <class T>
    requires std::is_integral_v<T>
  friend constexpr Checked operator-(Checked a, T b) { return a - Checked(static_cast<std::int64_t>(b)); }
  template <class T>
    requires std::is_integral_v<T>
  friend constexpr Checked operator-(T a, Checked b) { return Checked(static_cast<std::int64_t>(a)) - b; }
  template <class T>
    requires std::is_integral_v<T>
  friend constexpr Checked operator*(Checked a, T b) { return a * Checked(static_cast<std::int64_t>(b)); }
  template <class T>
    requires std::is_integral_v<T>
  friend constexpr Checked operator*(T a, Checked b) { return Checked(static_cast<std::int64_t>(a)) * b; }
  constexpr Checked& operator+=(Checked other) { return *this = *this + other; }
  constexpr Checked& operator-=(Checked other) { return *this = *this - other; }
  constexpr Checked& operator*=(Checked other) { return *this = *this * other; }

 private:
  [[noreturn]] static void overflow(std::int64_t a, const char* sign, std::int64_t b) {
    throw InputError("number too large for 64 bits: " + std::to_string(a) + " " + sign + " " + std::to_string(b));
  }
  std::int64_t value_;
};

/// Smallest q with q * divisor >= value. Pre: value >= 0, divisor > 0.
constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t divisor) {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

/// Smallest multiple of `multiple` that is at least `value`. Pre: value >= 0, multiple > 0.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return Checked(ceil_div(value, multiple)) * multiple;
}

/// Least common multiple, overflow-checked. Pre: a > 0, b > 0.
constexpr std::int64_t checked_lcm(std::int64_t a, std::int64_t b) {
  return Checked(a / std::gcd(a, b)) * b;
}

/// The divisors of a positive number as text for an error message: "1, 2, 4, 8". Of many, or of a number past a
/// million, only the smaller ones and the number itself: "1, 2, 3, …, 5040".
std::string divisors_text(std::int64_t value);

}  // namespace hybridkv
