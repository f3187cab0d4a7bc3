#pragma once

#include <cmath>

namespace hybridkv {

template <class Real>
Real sigmoid(Real x) {
  return 1 / (1 + std::exp(-x));
}

template <class Real>
Real silu(Real x) {
  return x * sigmoid(x);
}

/// log(1 + exp(x)), without overflow.
template <class Real>
Real softplus(Real x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

}  // namespace hybridkv
