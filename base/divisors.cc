#include "base/divisors.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/error.h"

namespace hybridkv {

std::int64_t largest_divisor_at_most(std::int64_t value, std::int64_t limit) {
  expects(value >= 1 && limit >= 1, "a positive number and limit");
  if (limit >= value) return value;
  // Divisors come in pairs d * q = value. A d above the root is met by its small q, counting up, others counting down.
  for (std::int64_t quotient = ceil_div(value, limit); quotient <= value / quotient; ++quotient)
    if (value % quotient == 0) return value / quotient;
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(value)));
  while (root + 1 <= value / (root + 1)) ++root;  // the square root of a double is rounded
  std::int64_t divisor = std::min(limit, root);
  while (value % divisor != 0) --divisor;
  return divisor;
}

}  // namespace hybridkv
