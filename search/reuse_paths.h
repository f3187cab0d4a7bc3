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
/// is not known to anyone. Memory: 40 bytes a distinct run of content in which a unit ends while the trace is read,
/// however many end in it, 8 a stretch.
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
  /// Depths of runs that are remembered, for checks.
  std::int64_t num_kept() const { return static_cast<std::int64_t>(last_.size() + num_deeper_); }

 private:
  // The request `own.last` passes through the units of a run from `begin` up to `own.end_unit`; those that earlier
  // requests passed through are added to its stretches. Units of the others.
  std::int64_t pass(std::uint64_t chain, std::int32_t begin, const ReuseStretch& own);
  // Its units up to there were passed through last by that earlier request.
  void add_stretch(std::int32_t end_unit, std::int32_t last);
  std::size_t begin_of_last() const { return ends_.empty() ? 0 : ends_.back(); }

  std::int64_t unit_tokens_;
  std::optional<std::int64_t> max_model_len_;
  // By the chain of a run: how far the last request through it went, and those that went further than all after them,
  // the deepest first.
  std::unordered_map<std::uint64_t, ReuseStretch> last_;
  std::unordered_map<std::uint64_t, std::vector<ReuseStretch>> deeper_;
  std::size_t num_deeper_ = 0;
  std::int64_t different_units_ = 0;
  std::vector<ReuseStretch> stretches_;
  std::vector<std::size_t> ends_;  // (request) of its stretches
  std::vector<std::int64_t> prompt_tokens_;
  std::int64_t all_prompt_tokens_ = 0;
};

}  // namespace hybridkv
