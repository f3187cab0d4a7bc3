#pragma once

#include <cstdint>

namespace hybridkv {

/// Tokens that a drafter proposes to every sequence that generates, and that the step verifies.
struct Drafts {
  std::int64_t tokens = 0;  ///< of a sequence and step, >= 0
  /// The chance that the next one is right where those before it are, [0, 1]: what engines log as the acceptance rate
  /// of the first position.
  double acceptance = 0;

  /// Rows of a sequence in a step: its last token and the drafts.
  std::int64_t rows() const { return 1 + tokens; }
  /// Tokens that a step yields of a sequence in the mean: one, and the drafts up to the first that is wrong.
  /// Source: Leviathan, Kalman and Matias 2023, equation 1.
  double tokens_of_step() const {
    double sum = 1, right = 1;
    for (std::int64_t i = 0; i < tokens; ++i) sum += right *= acceptance;
    return sum;
  }
  bool operator==(const Drafts&) const = default;
};

}  // namespace hybridkv
