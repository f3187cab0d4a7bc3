#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace hybridkv {

/// The score of a key that a query does not see, and the log-sum-exp of a query that sees none.
template <class Real>
inline constexpr Real minus_infinity = -std::numeric_limits<Real>::infinity();

/// Attention of T query tokens and Hq query heads, dv channels each.
/// A token that sees no key has out 0 and lse minus infinity.
template <class Real>
struct AttentionOutput {
  std::vector<Real> out;  ///< (T, Hq, dv), softmax-weighted V
  std::vector<Real> lse;  ///< (T, Hq), natural logarithm of the sum of exp(score)
};

}  // namespace hybridkv
