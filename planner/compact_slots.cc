#include <algorithm>

#include "base/checked.h"
#include "planner/exact_pages.h"
#include "planner/extras.h"
#include "planner/grouping.h"
#include "planner/memory_split.h"
#include "planner/page_sizes.h"
#include "planner/strategies.h"

namespace hybridkv {

namespace {

/// Pages of all specs lie in one allocation, so that each is a multiple of every element in it.
std::int64_t common_unit(std::span<const SpecPlan> specs, const EngineSpec& engine) {
  std::int64_t unit = exact_unit(specs, engine);
  for (const SpecPlan& spec : specs)
    if (spec.attention) unit = checked_lcm(unit, element_bytes(spec.attention->dtype));
  return unit;
}

/// One arena and one lane for the states of all specs: a slot has the layers of the first spec, then those of the next.
void add_state_slots(Arrangement& arrangement, std::int64_t unit) {
  const LaneId lane{static_cast<std::int64_t>(arrangement.lanes.size())};
  Checked state_slot_bytes = 0;
  ArenaId arena;
  for (const SpecPlan& spec : arrangement.specs) {
    if (!spec.state) continue;
    const bool first = state_slot_bytes == 0;
    if (first) arena = add_arena(arrangement, "slots", 0);
    const std::int64_t page = exact_page_bytes(spec, unit);
    arrangement.groups.push_back({.spec = spec.id,
                                  .pages = every_nth_page(spec, 0, 1),
                                  .arena = arena,
                                  .first_lane = lane,
                                  .shares_table = !first,
                                  .in_lane = PagesInLane{state_slot_bytes, page}});
    state_slot_bytes += Checked(spec.num_pages) * page;
  }
  if (state_slot_bytes == 0) return;
  arrangement.arenas[arena.index()].bytes_per_id = state_slot_bytes;
  arrangement.lanes.push_back({arena, {}, 0, state_slot_bytes, state_slot_bytes});
}

/// The slots lie at the front of the allocation, behind them the lanes of tokens one after the other.
void place_states_and_tokens(Arrangement& arrangement, const DerivationLog& log) {
  arrangement.pools.push_back({});
  PoolPlan& pool = arrangement.pools.front();
  std::vector<LanePlan*> lanes;
  for (LanePlan& lane : arrangement.lanes) lanes.push_back(&lane);
  if (arrangement.spec_of(arrangement.groups.back()).state) std::rotate(lanes.begin(), lanes.end() - 1, lanes.end());
  std::optional<ArenaId> placed;
  for (LanePlan* lane : lanes) {
    lane->pool = {0};
    lane->offset = pool.bytes;
    pool.bytes = Checked(pool.bytes) + Checked(arrangement.arenas[lane->arena.index()].num_ids) * lane->bytes;
    if (placed == lane->arena) continue;
    placed = lane->arena;
    const ArenaPlan& arena = arrangement.arenas[lane->arena.index()];
    log.add([&] {
      return Decision{{"first byte of " + arena.name, lane->offset, "bytes"},
                      lane->offset == 0 ? "0: the allocation begins with it" : "behind all that lies before it", {},
                      log.cite(RuleOf::compact_slots)};
    });
  }
  for (const GroupPlan& group : arrangement.groups)
    for (const std::int64_t layer : group.layers()) pool.shared_by.push_back({group.spec, layer});
  pool.page_bytes = arrangement.page_bytes(arrangement.groups.front());
}

}  // namespace

void arrange_compact_slots(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs) {
  const EngineSpec& engine = inputs.engine;
  const BlockSizes blocks = free_block_sizes(inputs.model, engine, inputs.log);
  arrangement.specs = size_own_pages(std::move(specs), blocks, engine, inputs.limits, inputs.log);
  arrangement.extras = make_extras(arrangement.specs, inputs.model, inputs.log);
  const std::int64_t unit = common_unit(arrangement.specs, engine);
  for (const SpecPlan& spec : arrangement.specs)
    if (spec.attention)
      add_own_arena(arrangement, spec, is_only_one(arrangement, spec), exact_page_bytes(spec, unit));
  add_state_slots(arrangement, unit);
  ArenaPlan& first = arrangement.arenas.front();
  first.bytes_per_id = Checked(first.bytes_per_id) + arrangement.extra_bytes_per_id();
  for (SpecPlan& spec : arrangement.specs) note_exact_page(spec, unit, RuleOf::compact_slots, inputs.log);
  split_memory(arrangement, inputs, RuleOf::compact_slots);
  place_states_and_tokens(arrangement, inputs.log);
}

}  // namespace hybridkv
