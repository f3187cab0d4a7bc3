#pragma once

#include <cstdint>
#include <optional>

#include "ask/replay/layout_bound.h"

namespace hybridkv {

/// What a replay of the same cache and trace found. Tokens are of the prompts that the engine takes.
struct ReplayedFigures {
  std::int64_t prompt_tokens = 0;  ///< the whole of every share: also of prompts that do not fit the memory
  std::int64_t found_tokens = 0;
  std::optional<std::int64_t> token_exact_tokens = {};  ///< in endless memory, token by token; unset: not asked for

  /// Share of the prompt tokens; 0 without any.
  double rate(std::int64_t tokens) const {
    return prompt_tokens > 0 ? static_cast<double>(tokens) / static_cast<double>(prompt_tokens) : 0;
  }
};

/// Throws std::logic_error unless found <= feasible <= upper <= endless <= token by token, of the same prompts: a
/// figure above what is proven to be the most is a fault of hybridkv, never a result.
void check_order(const LayoutBound& bound, const ReplayedFigures& replayed);

/// Enters what was found: that much is possible, whatever the schedule came to. Throws as check_order.
void add_found(LayoutBound& bound, const ReplayedFigures& replayed);

}  // namespace hybridkv
