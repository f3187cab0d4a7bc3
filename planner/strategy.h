#pragma once

#include "base/named_values.h"

namespace hybridkv {

/// How an engine arranges layers in memory. A closed set; planner/strategies.h says what each does.
enum class Strategy {
  packed_attention,  ///< pages of one size for all layers, N attention layers a page (vLLM; N > 1: PR 35703)
  dual_pool,         ///< exact slots for states in an arena of their own, tokens in pages of another
  small_pages,       ///< small attention pages of one arena; a state takes as many of them as it needs
  compact_slots,     ///< one allocation: attention pages, and slots in which the states of all layers lie side by side
  two_level,         ///< large pages of the least common multiple, each split among small pages of one kind of layer
  pool_groups,       ///< a pool group a kind of id, each a share of the memory in grains (TensorRT-LLM)
  sequence_rows,     ///< token cells, and rows of states by sequence, a tensor each (llama.cpp)
};

inline constexpr auto strategy_names = std::to_array<Named<Strategy>>(
    {{Strategy::packed_attention, "packed_attention"},
     {Strategy::dual_pool, "dual_pool"},
     {Strategy::small_pages, "small_pages"},
     {Strategy::compact_slots, "compact_slots"},
     {Strategy::two_level, "two_level"},
     {Strategy::pool_groups, "pool_groups"},
     {Strategy::sequence_rows, "sequence_rows"}});
inline constexpr auto all_strategies = values_of(strategy_names);

/// Is the memory split between state slots and pages of tokens, each with ids of their own?
constexpr bool splits_memory(Strategy strategy) {
  return strategy == Strategy::dual_pool || strategy == Strategy::compact_slots;
}
/// Their names: "dual_pool and …".
inline std::string splitting_strategies() {
  std::string names;
  for (const auto& [strategy, name] : strategy_names)
    if (splits_memory(strategy)) names += (names.empty() ? "" : " and ") + std::string(name);
  return names;
}
/// Do ids of all kinds lie in one pool?
constexpr bool is_one_allocation(Strategy strategy) {
  return strategy == Strategy::compact_slots || strategy == Strategy::two_level;
}
/// Do all layers of a kind always make one group? Then no smaller groups can be asked for.
constexpr bool groups_whole_kinds(Strategy strategy) {
  return splits_memory(strategy) || strategy == Strategy::two_level;
}
/// Are the tensors of a state in places of their own, and not one behind the other in a page?
constexpr bool keeps_tensors_apart(Strategy strategy) {
  return strategy == Strategy::pool_groups || strategy == Strategy::sequence_rows;
}
/// Does each tensor of a state begin pages of its own? Where they are apart, and where it makes a kind of small pages.
constexpr bool gives_tensors_pages(Strategy strategy) {
  return keeps_tensors_apart(strategy) || strategy == Strategy::two_level;
}

constexpr std::string_view to_string(Strategy value) { return name_in(strategy_names, value); }
constexpr std::optional<Strategy> parse_strategy(std::string_view name) { return value_in(strategy_names, name); }

}  // namespace hybridkv
