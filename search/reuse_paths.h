#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "simulator/trace/trace.h"

namespace hybridkv {

/// Neighbouring units of a prompt that the same request passed through last.
struct ReuseStretch {
  std::int32_t end_unit = 0;  ///< units of the prompt up to here, from the end of the stretch before
  std::int32_t last = 0;      ///< number of the last request before that began with them
  bool operator==(const ReuseStretch&) const = default;
};

/// What each request of a trace finds that earlier ones began with, in units of tokens at which prefixes are matched.
///
/// Only what was there before is listed: a request with nothing in common with earlier ones has no stretch. Requests
/// further into a prompt lie no later: who passed through a unit passed through all before it. What requests generate
/// is not known to anyone. Memory: 40 bytes a distinct unit while the trace is read, 8 a stretch.
class ReusePaths {
 public:
  /// Pre: unit_tokens >= 1. Prompts of max_model_len tokens or more are refused by engines and left out.
  explicit ReusePaths(std::int64_t unit_tokens, std::optional<std::int64_t> max_model_len = {});
  void consume(const TraceBatch& batch);

  std::int64_t unit_tokens() const { return unit_tokens_; }
  std::int64_t num_requests() const { return std::ssize(prompt_tokens_); }
  std::int64_t prompt_tokens(std::int64_t request) const { return prompt_tokens_[static_cast<std::size_t>(request)]; }
  std::int64_t all_prompt_tokens() const { return all_prompt_tokens_; }
  /// Those of one request, from the front of its prompt.
  std::span<const ReuseStretch> stretches(std::int64_t request) const;
  /// Units up to which a request may hit: those before its last token.
  std::int64_t most_units(std::int64_t request) const { return (prompt_tokens(request) - 1) / unit_tokens_; }

 private:
  std::int64_t unit_tokens_;
  std::optional<std::int64_t> max_model_len_;
  std::unordered_map<PrefixKey, std::int32_t> last_;  // by the prefix that ends with a unit
  std::vector<PrefixKey> keys_;
  std::vector<ReuseStretch> stretches_;
  std::vector<std::size_t> ends_;  // (request) of its stretches
  std::vector<std::int64_t> prompt_tokens_;
  std::int64_t all_prompt_tokens_ = 0;
};

}  // namespace hybridkv
