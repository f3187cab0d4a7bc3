#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "attention/attention_spec.h"

namespace hybridkv {

/// Which earlier keys of its own request a token may see.
enum class MaskKind {
  full,            ///< all of them
  sliding_window,  ///< the last `window_tokens` ones, its own included
  chunked_local,   ///< those of its own chunk of `window_tokens` positions
};

/// The mask of a layer; what `causal` forbids comes on top.
/// Examples: a window of 4 lets position 9 see 6 to 9; chunks of 4 let position 9 see 8 and 9.
/// Source: vLLM SlidingWindowSpec and ChunkedLocalAttentionSpec.
struct KeyMask {
  MaskKind kind = MaskKind::full;
  std::int64_t window_tokens = 0;  ///< >= 1 unless full
  bool operator==(const KeyMask&) const = default;

  /// The first position that the token at `position` sees, 0 for a token before the sequence (position < 0).
  std::int64_t first_visible(std::int64_t position) const {
    if (position < 0) return 0;
    switch (kind) {
      case MaskKind::sliding_window: return std::max<std::int64_t>(0, position - window_tokens + 1);
      case MaskKind::chunked_local: return position / window_tokens * window_tokens;
      default: return 0;
    }
  }
};

/// "full", "sliding_window", "chunked_local".
constexpr std::string_view to_string(MaskKind kind) {
  switch (kind) {
    case MaskKind::sliding_window: return "sliding_window";
    case MaskKind::chunked_local: return "chunked_local";
    default: return "full";
  }
}

/// The mask of a layer of that kind; mla sees every earlier token where it has no window.
constexpr KeyMask key_mask(AttentionKind kind, std::int64_t window_tokens) {
  switch (kind) {
    case AttentionKind::sliding_window: return {MaskKind::sliding_window, window_tokens};
    case AttentionKind::mla:
      return window_tokens > 0 ? KeyMask{MaskKind::sliding_window, window_tokens} : KeyMask{};
    case AttentionKind::chunked_local: return {MaskKind::chunked_local, window_tokens};
    default: return {};
  }
}

}  // namespace hybridkv
