#pragma once

namespace hybridkv {

/// The share of all prompt tokens by which two settings or engines may differ in what they compute again and still
/// count as finding the same: a replay of another trace of the same kind differs by more.
inline constexpr double same_hits_share = 0.005;

/// Does one that computes so many tokens again find as much as one that computes `fewest`?
inline bool finds_the_same(double computed, double fewest, double prompt_tokens) {
  return computed <= fewest + same_hits_share * prompt_tokens;
}

}  // namespace hybridkv
