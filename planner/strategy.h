#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace hybridkv {

/// How an engine arranges layers in memory. A closed set; planner/strategies.h says what each does.
enum class Strategy {
  packed_attention,  ///< pages of one size for all layers, N attention layers a page (vLLM; N > 1: PR 35703)
  dual_pool,         ///< exact slots for states in an arena of their own, tokens in pages of another
  small_pages,       ///< small attention pages of one arena; a state takes as many of them as it needs
};

inline constexpr std::array all_strategies{Strategy::packed_attention, Strategy::dual_pool, Strategy::small_pages};

std::string_view to_string(Strategy strategy);
std::optional<Strategy> parse_strategy(std::string_view name);

}  // namespace hybridkv
