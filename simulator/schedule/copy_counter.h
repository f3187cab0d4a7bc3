#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// How often each prompt of a trace has come so far, for every one of them.
///
/// Prompts are told apart by 62 bits of their key: among 10 million of them two are taken for one with probability
/// 1.1 * 10^-5. Memory grows with the distinct prompts, 11 to 43 bytes each. A prompt costs one look-up.
class CopyCounter {
 public:
  /// The highest number that is told apart, because the third copy of a prompt finds what all later ones find.
  static constexpr int most = 3;

  /// Counts the prompt once more. 1: it is new; at most `most`.
  int count(PrefixKey prompt);
  /// Prompts that differ from one another, for tests.
  std::size_t num_distinct() const { return filled_; }

 private:
  // The place of the key or the empty one where it belongs.
  std::size_t place_of(std::uint64_t key) const;
  void grow();

  // Keys with how often they came in place of the two lowest bits, 0 = empty. Open addressing by the highest bits.
  std::vector<std::uint64_t> buckets_ = std::vector<std::uint64_t>(std::size_t{1} << 10);
  int shift_ = 64 - 10;
  std::size_t filled_ = 0;
};

}  // namespace hybridkv
