#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace hybridkv {

/// Most different windows of a model that a batch counts apart; further ones are read as wide as the widest.
inline constexpr std::size_t most_windows = 2;

/// What one step computes: numbers of tokens and of what they attend to.
struct StepBatch {
  double prompt_tokens = 0;     ///< of prompts, computed in this step
  double prompts = 0;           ///< that they belong to
  double prompt_pairs = 0;      ///< sum of q (c + q / 2) over prompts: q tokens computed behind c that are there
  double prompt_context = 0;    ///< sum of c + q
  std::array<double, most_windows> window_pairs{};    ///< the same two with a window
  std::array<double, most_windows> window_context{};
  double decoding = 0;          ///< sequences that generate
  double decode_rows = 0;       ///< rows computed of them: more than one of each where drafts are verified
  double decode_context = 0;    ///< sum of the tokens that they read
  double draft_passes = 0;      ///< runs of the drafter: one for each draft of a sequence
  std::array<double, most_windows> window_decode{};
  double sampled = 0;           ///< sequences of which this step samples a token
  double copied_states = 0;     ///< sequences whose states are copied, in all recurrent layers
  double loaded_seconds = 0;    ///< that loads from other memory take before it
  double loaded_beside_seconds = 0;  ///< that loads take layer by layer beside it: it ends no sooner than they do
  double elsewhere_rows = 0;    ///< rows that other ranks compute, with which this one shares the experts
  /// Rows that this rank computes.
  double rows() const { return prompt_tokens + decode_rows; }
  bool operator==(const StepBatch&) const = default;
};

/// Adds `tokens` of a prompt behind `before` that are there.
inline void add_prompt(StepBatch& batch, double tokens, double before,
                       const std::array<std::int64_t, most_windows>& windows) {
  batch.prompt_tokens += tokens;
  batch.prompts += 1;
  batch.prompt_pairs += tokens * (before + tokens / 2);
  batch.prompt_context += before + tokens;
  for (std::size_t i = 0; i < most_windows; ++i) {
    const auto window = static_cast<double>(windows[i]);
    batch.window_pairs[i] += tokens * std::min(before + tokens / 2, window);
    batch.window_context[i] += std::min(before, window) + tokens;
  }
}

/// Adds a sequence that generates a token behind `context`, and verifies `drafts` more.
inline void add_decode(StepBatch& batch, double context, const std::array<std::int64_t, most_windows>& windows,
                       std::int64_t drafts = 0) {
  const auto rows = static_cast<double>(1 + drafts);
  batch.decoding += 1;
  batch.decode_rows += rows;
  batch.sampled += rows;
  batch.draft_passes = std::max(batch.draft_passes, rows - 1);
  batch.decode_context += context;
  for (std::size_t i = 0; i < most_windows; ++i)
    batch.window_decode[i] += std::min(context, static_cast<double>(windows[i]));
}

}  // namespace hybridkv
