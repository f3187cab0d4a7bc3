#pragma once

#include <doctest/doctest.h>

namespace hybridkv::testing {

/// Equal to a value, other than 0, but for this part of it, however small it is. A doctest::Approx allows its epsilon
/// itself besides, so that to it all times are equal that are shorter than that many seconds.
inline doctest::Approx close_to(double value, double epsilon = 1e-5) {
  return doctest::Approx(value).epsilon(epsilon).scale(0);
}

}  // namespace hybridkv::testing
