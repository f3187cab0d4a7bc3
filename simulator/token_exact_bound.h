#pragma once

#include <cstdint>
#include <optional>
#include "simulator/seen_prefixes.h"
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
  std::optional<std::int64_t> max_model_len_;
  SeenPrefixes seen_;
  std::int64_t prompt_tokens_ = 0;
  std::int64_t hit_tokens_ = 0;
  std::int64_t longest_hit_ = 0;
};

}  // namespace hybridkv
