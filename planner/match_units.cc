#include "planner/match_units.h"

#include <fmt/format.h>

#include <numeric>

#include "base/checked.h"

namespace hybridkv {

MatchUnits match_units(const Arrangement& arrangement, const EngineSpec& engine) {
  MatchUnits units{.scheduler_block = 1};
  std::int64_t common = 0, indivisible = 0;
  const std::int64_t ranks = arrangement.decode_context_parallel;
  for (const GroupPlan& group : arrangement.groups) {
    if (group.shares_table) continue;
    const SpecPlan& spec = arrangement.spec_of(group);
    if (spec.ring_tokens > 0) continue;  // nothing is found again in a ring
    const std::int64_t span = Checked(spec.block_size_tokens) * (spec.attention ? ranks : 1);
    units.scheduler_block = checked_lcm(units.scheduler_block, span);
    common = std::gcd(common, span);
    ++units.tables;
    if (const auto unit = engine.prefix_match_unit_tokens; unit && span % *unit != 0) indivisible = span;
  }
  const bool caches = arrangement.cache_mode != CacheMode::none;
  units.hash_block = units.scheduler_block;
  if (!caches) return units;
  if (units.tables == 1) {
    // One group is matched by its block; any other unit would change nothing, and the engine says so.
    if (const auto unit = engine.prefix_match_unit_tokens; unit && *unit != units.scheduler_block)
      units.error = fmt::format("engine.prefix_match_unit_tokens: {} is not the block of {} tokens, by which prefixes "
                                "are found where one group keeps them; leave it out or take {}",
                                *unit, units.scheduler_block, units.scheduler_block);
    return units;
  }
  if (indivisible > 0)
    units.error = fmt::format("engine.prefix_match_unit_tokens: {} does not divide the block of {} tokens of a group "
                              "whose prefixes are cached; take a divisor of {}",
                              *engine.prefix_match_unit_tokens, indivisible, common);
  units.hash_block = indivisible > 0 ? common : engine.prefix_match_unit_tokens.value_or(common);
  bool longer = false, others = true;
  for (const SpecPlan& spec : arrangement.specs) {
    if (spec.ring_tokens > 0) continue;
    if (spec.state)
      longer = longer || Checked(spec.block_size_tokens) * ranks > units.hash_block;
    else if (spec.attention->window_tokens > 0)
      others = others && spec.block_size_tokens == units.hash_block;
  }
  units.fine = longer && others;
  return units;
}

}  // namespace hybridkv
