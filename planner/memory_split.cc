#include "planner/memory_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "planner/demand.h"
#include "planner/grouping.h"
#include "planner/id_count.h"

namespace hybridkv {

namespace {

constexpr double default_ratio = 0.9;

std::int64_t state_memory(const Arrangement& arrangement, const EngineSpec& engine) {
  const bool has_tokens = std::any_of(arrangement.specs.begin(), arrangement.specs.end(),
                                      [](const SpecPlan& spec) { return spec.attention.has_value(); });
  if (!has_tokens) return engine.memory_bytes;
  const double ratio = engine.state_memory_ratio.value_or(default_ratio);
  return static_cast<std::int64_t>(std::floor(static_cast<double>(engine.memory_bytes) * (ratio / (1 + ratio))));
}

/// The ids of the arenas of states: those of a number of requests, or what a share of the memory holds. All of them
/// have equally many, as every request takes equally many of each.
std::int64_t count_state_slots(const Arrangement& arrangement, std::int64_t state_slot_bytes, std::int64_t longest,
                               const EngineSpec& engine, RuleOf rule, const DerivationLog& log) {
  const auto state = std::find_if(arrangement.specs.begin(), arrangement.specs.end(),
                                  [](const SpecPlan& spec) { return spec.state.has_value(); });
  if (engine.state_requests) {
    const std::int64_t each = table_entries(table_rule(arrangement, *state), longest);
    const std::int64_t state_slots = Checked(*engine.state_requests) * each + 1;
    log.add([&] {
      return Decision{{"slots", state_slots, "slots"},
                      "slots = requests * slots of a request + 1: slot 0 is the null slot",
                      {{"requests", *engine.state_requests, ""}, {"slots of a request", each, "slots"}},
                      "engine.state_requests"};
    });
    return state_slots;
  }
  const std::int64_t memory = state_memory(arrangement, engine);
  const std::int64_t state_slots = memory / state_slot_bytes;
  log.add([&] {
    if (memory == engine.memory_bytes)
      return Decision{{"memory of states", memory, "bytes"}, "memory of states = memory: there are no tokens",
                      {{"memory", engine.memory_bytes, "bytes"}}, log.cite(rule)};
    return Decision{{"memory of states", memory, "bytes"}, "memory of states = floor(memory * (ratio / (1 + ratio)))",
                    {{"memory", engine.memory_bytes, "bytes"},
                     {"ratio", engine.state_memory_ratio.value_or(default_ratio), ""}}, log.cite(rule)};
  });
  log.add([&] {
    return Decision{{"slots", state_slots, "slots"}, "slots = floor(memory of states / bytes of a slot)",
                    {{"memory of states", memory, "bytes"}, {"bytes of a slot", state_slot_bytes, "bytes"}},
                    log.cite(rule)};
  });
  return state_slots;
}

/// Shares bytes among the arenas of tokens so that a longest request needs the same part of each.
void share_tokens(Arrangement& arrangement, std::int64_t bytes, std::int64_t longest, RuleOf rule,
                  const DerivationLog& log) {
  Checked cost = 0, one_of_each = 0;
  for (const GroupPlan& group : arrangement.groups) {
    if (arrangement.spec_of(group).state) continue;
    cost += Checked(group_ids(arrangement, group, longest)) * arrangement.arena_of(group).bytes_per_id;
    one_of_each += arrangement.arena_of(group).bytes_per_id;
  }
  if (cost == 0) return;
  const std::int64_t requests = bytes / cost;
  const std::int64_t more = (bytes - Checked(requests) * cost) / one_of_each;
  for (const GroupPlan& group : arrangement.groups) {
    if (arrangement.spec_of(group).state) continue;
    ArenaPlan& arena = arrangement.arenas[group.arena.index()];
    const std::int64_t each = group_ids(arrangement, group, longest);
    arena.num_ids = Checked(requests) * each + std::min(more, each);
    log.add([&] {
      return Decision{{"ids of " + arena.name, arena.num_ids, "ids"},
                      "ids = requests * ids of a longest request + min(more, ids of a longest request)",
                      {{"memory of tokens", bytes, "bytes"}, {"requests", requests, ""},
                       {"ids of a longest request", each, "ids"}, {"more", more, "ids"}}, log.cite(rule)};
    });
  }
}

void set_by_user(Arrangement& arrangement, std::int64_t ids) {
  Checked bytes = 0;
  for (const ArenaPlan& arena : arrangement.arenas) bytes += arena.bytes_per_id;
  require_addressable(ids, bytes, "ids");
  for (ArenaPlan& arena : arrangement.arenas) arena.num_ids = ids;
}

/// Arenas of states, each once: several specs may share the slots of one.
std::vector<ArenaId> state_arenas(const Arrangement& arrangement) {
  std::vector<ArenaId> arenas;
  for (const GroupPlan& group : arrangement.groups)
    if (arrangement.spec_of(group).state && !group.shares_table) arenas.push_back(group.arena);
  return arenas;
}

}  // namespace

bool is_only_one(const Arrangement& arrangement, const SpecPlan& spec) {
  return std::count_if(arrangement.specs.begin(), arrangement.specs.end(), [&](const SpecPlan& other) {
           return other.state.has_value() == spec.state.has_value();
         }) == 1;
}

ArenaId add_arena(Arrangement& arrangement, std::string name, std::int64_t bytes_per_id) {
  arrangement.arenas.push_back({std::move(name), 0, bytes_per_id});
  return {static_cast<std::int64_t>(arrangement.arenas.size()) - 1};
}

void add_own_arena(Arrangement& arrangement, const SpecPlan& spec, bool only_one, std::int64_t page_bytes) {
  const LaneId first_lane{static_cast<std::int64_t>(arrangement.lanes.size())};
  const std::string name = spec.state ? "states" : "tokens";
  const ArenaId arena = add_arena(arrangement, only_one ? name : name + " of " + spec_label(spec),
                                  Checked(spec.num_pages) * page_bytes);
  arrangement.groups.push_back(
      {.spec = spec.id, .pages = every_nth_page(spec, 0, 1), .arena = arena, .first_lane = first_lane});
  for (std::int64_t lane = 0; lane < spec.num_pages; ++lane)
    arrangement.lanes.push_back({arena, {}, 0, page_bytes, page_bytes});
}

void split_memory(Arrangement& arrangement, const ArrangeInputs& inputs, RuleOf rule) {
  const EngineSpec& engine = inputs.engine;
  if (engine.num_blocks) {
    set_by_user(arrangement, *engine.num_blocks);
    for (const ArenaPlan& arena : arrangement.arenas)
      inputs.log.add([&] {
        return Decision{{"ids of " + arena.name, arena.num_ids, "ids"}, "as set by the user", {}, "engine.num_blocks"};
      });
    return;
  }
  const std::int64_t longest =
      *std::max_element(inputs.limits.max_model_lens.begin(), inputs.limits.max_model_lens.end());
  Checked state_slot_bytes = 0;
  for (const ArenaId id : state_arenas(arrangement)) state_slot_bytes += arrangement.arenas[id.index()].bytes_per_id;
  Checked rest = engine.memory_bytes;
  if (state_slot_bytes > 0) {
    const std::int64_t state_slots =
        count_state_slots(arrangement, state_slot_bytes, longest, engine, rule, inputs.log);
    for (const ArenaId id : state_arenas(arrangement)) {
      ArenaPlan& arena = arrangement.arenas[id.index()];
      arena.num_ids = state_slots;
      inputs.log.add([&] {
        return Decision{{"ids of " + arena.name, state_slots, "ids"}, "ids = slots: a request takes as many of each",
                        {{"slots", state_slots, "slots"}}, inputs.log.cite(rule)};
      });
    }
    if (Checked(state_slots) * state_slot_bytes > rest)
      throw SpecError(
          "engine.state_requests",
          fmt::format("{} slots take {} bytes, more than the memory of {}; give more memory or fewer requests",
                      state_slots, std::int64_t(Checked(state_slots) * state_slot_bytes), engine.memory_bytes));
    rest -= Checked(state_slots) * state_slot_bytes;
  }
  share_tokens(arrangement, rest, longest, rule, inputs.log);
}

}  // namespace hybridkv
