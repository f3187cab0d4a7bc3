#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "simulator/losses/seen_prefixes.h"
#include "simulator/replay.h"
#include "simulator/trace/trace.h"

namespace hybridkv {

/// Hits of a cache that keeps everything and matches prompts token by token: no layout can hit more.
///
/// A prompt hits the longest prefix it shares with any earlier prompt, never its own last token. What requests
/// generate is not known to anyone. Prompts that the engine refuses for their length are left out. Memory grows with
/// the distinct content of the trace, about 32 bytes a run.
class TokenExactBound final : public Replay {
 public:
  explicit TokenExactBound(std::optional<std::int64_t> max_model_len = {}) : max_model_len_(max_model_len) {}
  void consume(const TraceBatch& batch) override;
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

/// One such bound for all replays that take the same prompts.
class TokenExactBounds {
 public:
  /// Sees to it that there is one for prompts of this limit among `replays`, which own it.
  void add(std::optional<std::int64_t> max_model_len, std::vector<std::unique_ptr<Replay>>& replays) {
    if (bounds_.contains(max_model_len)) return;
    auto bound = std::make_unique<TokenExactBound>(max_model_len);
    bounds_.emplace(max_model_len, bound.get());
    replays.push_back(std::move(bound));
  }
  const TokenExactBound& of(std::optional<std::int64_t> max_model_len) const { return *bounds_.at(max_model_len); }

 private:
  std::map<std::optional<std::int64_t>, const TokenExactBound*> bounds_;
};

}  // namespace hybridkv
