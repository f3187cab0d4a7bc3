#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/trace.h"

namespace hybridkv {

/// Hits of a cache that keeps everything and matches prompts token by token: no layout can hit more.
///
/// A prompt hits the longest prefix it shares with any earlier prompt, never its own last token. What requests
/// generate is not known to anyone. Prompts that the engine refuses for their length are left out. Memory grows with
/// the distinct content of the trace, about 32 bytes a run.
class TokenExactBound {
 public:
  explicit TokenExactBound(std::optional<std::int64_t> max_model_len = {}) : max_model_len_(max_model_len) {}
  void consume(const TraceBatch& batch);
  std::int64_t prompt_tokens() const { return prompt_tokens_; }
  std::int64_t hit_tokens() const { return hit_tokens_; }
  /// Most tokens that one prompt shares with an earlier one.
  std::int64_t longest_hit() const { return longest_hit_; }

  /// Tokens that one prompt shares with those seen before; remembers it.
  std::int64_t match(std::span<const TokenRun> prompt);

 private:
  struct Entry {
    std::uint64_t chain = 0;      // 0 = empty
    std::int64_t end_token = 0;   // longest reach of this run seen so far
  };
  Entry& entry(std::uint64_t chain);
  void grow();

  std::optional<std::int64_t> max_model_len_;
  std::vector<Entry> table_ = std::vector<Entry>(1 << 10);  // power of two, open addressing, at most half full
  std::size_t filled_ = 0;
  std::int64_t prompt_tokens_ = 0;
  std::int64_t hit_tokens_ = 0;
  std::int64_t longest_hit_ = 0;
};

}  // namespace hybridkv
