#include "planner/strategy.h"

namespace hybridkv {

std::string_view to_string(Strategy strategy) {
  switch (strategy) {
    case Strategy::packed_attention: return "packed_attention";
    case Strategy::dual_pool: return "dual_pool";
    case Strategy::small_pages: return "small_pages";
  }
  return "?";
}

std::optional<Strategy> parse_strategy(std::string_view name) {
  for (const Strategy strategy : all_strategies)
    if (to_string(strategy) == name) return strategy;
  return std::nullopt;
}

}  // namespace hybridkv
