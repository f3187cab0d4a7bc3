#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// Remembers beginnings of prompts and says how much of another one they cover, token by token.
///
/// Memory grows with the distinct content, about 32 bytes a run; time is linear in the runs of a prompt.
class SeenPrefixes {
 public:
  /// Leading tokens of the prompt that any remembered beginning has too.
  std::int64_t longest(std::span<const TokenRun> prompt) const;
  /// Remembers the first `tokens` tokens of the prompt.
  void remember(std::span<const TokenRun> prompt, std::int64_t tokens);

 private:
  struct Entry {
    std::uint64_t chain = 0;     // 0 = empty
    std::int64_t end_token = 0;  // longest reach of this run seen so far
  };
  std::size_t place_of(std::uint64_t chain) const;
  void grow();

  std::vector<Entry> table_ = std::vector<Entry>(1 << 10);  // power of two, open addressing, at most half full
  std::size_t filled_ = 0;
};

}  // namespace hybridkv
