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

/// The log of the decay of one token: -rate softplus(gate), or, with a limit > 0, -limit sigmoid(rate gate), which
/// stays in (-limit, 0).
template <class Real>
Real log_decay(Real rate, Real gate, Real limit) {
  return limit > 0 ? -limit * sigmoid(rate * gate) : -rate * softplus(gate);
}

}  // namespace hybridkv
