#pragma once

#include "base/named_values.h"

namespace hybridkv {

/// How an engine arranges layers in memory. A closed set; planner/strategies.h says what each does.
enum class Strategy {
  packed_attention,  ///< pages of one size for all layers, N attention layers a page (vLLM; N > 1: PR 35703)
  dual_pool,         ///< exact slots for states in an arena of their own, tokens in pages of another
  small_pages,       ///< small attention pages of one arena; a state takes as many of them as it needs
};

inline constexpr auto strategy_names = std::to_array<Named<Strategy>>(
    {{Strategy::packed_attention, "packed_attention"},
     {Strategy::dual_pool, "dual_pool"},
     {Strategy::small_pages, "small_pages"}});
inline constexpr auto all_strategies = values_of(strategy_names);

constexpr std::string_view to_string(Strategy value) { return name_in(strategy_names, value); }
constexpr std::optional<Strategy> parse_strategy(std::string_view name) { return value_in(strategy_names, name); }

}  // namespace hybridkv
