#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "planner/demand.h"
#include "planner/extras.h"
#include "planner/grouping.h"
#include "planner/id_count.h"
#include "planner/page_sizes.h"
#include "planner/radix_split.h"
#include "planner/split_decisions.h"
#include "planner/strategies.h"

namespace hybridkv {

namespace {

constexpr const char* dual_source = "dual pool, modelled; ratio: SGLang --mamba-full-memory-ratio";
constexpr double default_ratio = 0.9;

/// A page is a whole number of the elements of its state, so that every slot begins on one, and of the user's
/// alignment.
std::int64_t unit_of(const SpecPlan& spec, const EngineSpec& engine) {
  std::int64_t unit = engine.page_alignment_bytes;
  if (spec.state)
    for (const StateTensor& tensor : spec.state->tensors) unit = checked_lcm(unit, element_bytes(tensor.dtype));
  return unit;
}

std::int64_t page_of(const SpecPlan& spec, const EngineSpec& engine) {
  return round_up(spec.unpadded_page_bytes, unit_of(spec, engine));
}

/// One arena and one group a spec, lanes without ids yet.
void add_spec(Arrangement& arrangement, const SpecPlan& spec, bool only_one, const EngineSpec& engine) {
  const ArenaId arena{static_cast<std::int64_t>(arrangement.arenas.size())};
  const LaneId first_lane{static_cast<std::int64_t>(arrangement.lanes.size())};
  const std::int64_t page = page_of(spec, engine);
  const std::string name = spec.state ? "states" : "tokens";
  arrangement.arenas.push_back({only_one ? name : name + " of " + spec_label(spec), 0, Checked(spec.num_pages) * page});
  arrangement.groups.push_back(
      {.spec = spec.id, .pages = every_nth_page(spec, 0, 1), .arena = arena, .first_lane = first_lane});
  for (std::int64_t lane = 0; lane < spec.num_pages; ++lane) arrangement.lanes.push_back({arena, {}, 0, page, page});
}

std::int64_t state_memory(const Arrangement& arrangement, const EngineSpec& engine) {
  const bool has_tokens = std::any_of(arrangement.specs.begin(), arrangement.specs.end(),
                                      [](const SpecPlan& spec) { return spec.attention.has_value(); });
  if (!has_tokens) return engine.memory_bytes;
  const double ratio = engine.state_memory_ratio.value_or(default_ratio);
  return static_cast<std::int64_t>(std::floor(static_cast<double>(engine.memory_bytes) * (ratio / (1 + ratio))));
}

/// The ids of the arenas of states: those of a number of requests, or what a share of the memory holds. All of them
/// have equally many, as every request takes equally many of each.
std::int64_t count_slots(const Arrangement& arrangement, std::int64_t slot_bytes, std::int64_t longest,
                         const EngineSpec& engine, const DerivationLog& log) {
  const auto state = std::find_if(arrangement.specs.begin(), arrangement.specs.end(),
                                  [](const SpecPlan& spec) { return spec.state.has_value(); });
  if (engine.state_requests) {
    const std::int64_t each = group_entries(arrangement, *state, longest);
    const std::int64_t slots = Checked(*engine.state_requests) * each + 1;
    log.add([&] {
      return Decision{{"slots", slots, "slots"}, "slots = requests * slots of a request + 1: slot 0 is the null slot",
                      {{"requests", *engine.state_requests, ""}, {"slots of a request", each, "slots"}},
                      "engine.state_requests"};
    });
    return slots;
  }
  const std::int64_t memory = state_memory(arrangement, engine);
  const std::int64_t slots = memory / slot_bytes;
  log.add([&] {
    if (memory == engine.memory_bytes)
      return Decision{{"memory of states", memory, "bytes"}, "memory of states = memory: there are no tokens",
                      {{"memory", engine.memory_bytes, "bytes"}}, dual_source};
    return Decision{{"memory of states", memory, "bytes"}, "memory of states = floor(memory * (ratio / (1 + ratio)))",
                    {{"memory", engine.memory_bytes, "bytes"},
                     {"ratio", engine.state_memory_ratio.value_or(default_ratio), ""}}, dual_source};
  });
  log.add([&] {
    return Decision{{"slots", slots, "slots"}, "slots = floor(memory of states / bytes of a slot)",
                    {{"memory of states", memory, "bytes"}, {"bytes of a slot", slot_bytes, "bytes"}}, dual_source};
  });
  return slots;
}

/// Shares bytes among the arenas of tokens so that a longest request needs the same part of each.
void share_tokens(Arrangement& arrangement, std::int64_t bytes, std::int64_t longest, const DerivationLog& log) {
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
                       {"ids of a longest request", each, "ids"}, {"more", more, "ids"}}, dual_source};
    });
  }
}

/// What the derivation says of a spec that has an arena to itself.
void derive_spec(const Arrangement& arrangement, const GroupPlan& group, const EngineSpec& engine,
                 const DerivationLog& log) {
  const SpecPlan& spec = arrangement.spec_of(group);
  const std::int64_t page = arrangement.page_bytes(group);
  const Term own{"page", page, "bytes"}, unpadded{"unpadded", spec.unpadded_page_bytes, "bytes"};
  log.add([&] {
    return Decision{{"groups of " + spec_label(spec), 1, ""}, "1: all layers share a table", {}, dual_source};
  });
  log.add([&] {
    return Decision{{"page of " + spec_label(spec), page, "bytes"},
                    "page = unit * ceil(unpadded / unit): whole elements, and the user's alignment",
                    {{"unit", unit_of(spec, engine), "bytes"}, unpadded}, dual_source};
  });
  log.add([&] {
    return Decision{{"padding of " + spec_label(spec), spec.padding_percent, "%"},
                    "padding = 100 * (page - unpadded) / unpadded", {own, unpadded}, dual_source};
  });
}

/// Of tokens alone, which lie as they do in pages of one size.
void derive_only_arena(const Arrangement& arrangement, const DerivationLog& log) {
  const ArenaPlan& arena = arrangement.arenas.front();
  const Term ids{"ids", arena.num_ids, "ids"};
  log.add([&] {
    return Decision{{"P", arrangement.page_bytes(), "bytes"}, "P = page: there is no other",
                    {{"page", arrangement.page_bytes(), "bytes"}}, dual_source};
  });
  log.add([&] {
    return Decision{{"g", static_cast<std::int64_t>(arrangement.pools.size()), "pages per group"},
                    "a pool for each page",
                    {},
                    dual_source};
  });
  log.add([&] { return Decision{{"num_blocks", arena.num_ids, "blocks"}, "num_blocks = ids", {ids}, dual_source}; });
  log.add([&] {
    return Decision{{"usable blocks", arena.usable_ids(), "blocks"}, "usable = ids - 1: id 0 is the null id", {ids},
                    dual_source};
  });
}

void set_by_user(Arrangement& arrangement, std::int64_t ids) {
  Checked bytes = 0;
  for (const ArenaPlan& arena : arrangement.arenas) bytes += arena.bytes_per_id;
  require_addressable(ids, bytes, "ids");
  for (ArenaPlan& arena : arrangement.arenas) arena.num_ids = ids;
}

/// The slots and pages of an engine that splits its memory by rules of its own; id 0 is the dummy of either.
void take_split(Arrangement& arrangement, const BlockSizes& blocks, const ArrangeInputs& inputs) {
  arrangement.radix = make_radix_pools(arrangement.specs, blocks, inputs);
  const RadixPools& radix = *arrangement.radix;
  const std::int64_t pages = radix.split.token_slots / radix.page_tokens;
  derive_printed(arrangement, inputs.log);
  for (const GroupPlan& group : arrangement.groups) {
    ArenaPlan& arena = arrangement.arenas[group.arena.index()];
    const bool state = arrangement.spec_of(group).state.has_value();
    arena.num_ids = (state ? radix.split.state_slots : pages) + 1;
    inputs.log.add([&] {
      return Decision{{"ids of " + arena.name, arena.num_ids, "ids"},
                      state ? "ids = K + 1: slot 0 is a dummy" : "ids = tokens / page + 1: page 0 is a dummy",
                      state ? std::vector<Term>{{"K", radix.split.state_slots, "slots"}}
                            : std::vector<Term>{{"tokens", radix.split.token_slots, "tokens"},
                                                {"page", radix.page_tokens, "tokens"}},
                      "SGLang 0.5.23, run"};
    });
    inputs.log.add([&] {
      return Decision{{"bytes of all ids of " + arena.name, Checked(arena.num_ids) * arena.bytes_per_id, "bytes"},
                      "bytes = ids * bytes of an id",
                      {{"ids", arena.num_ids, "ids"}, {"bytes of an id", arena.bytes_per_id, "bytes"}},
                      "SGLang 0.5.23, run"};
    });
  }
}

/// States: one pool for all layers of a spec, the layer outermost. Tokens: a pool a page, as backends hold a tensor a
/// layer.
void place_lanes(Arrangement& arrangement) {
  for (const GroupPlan& group : arrangement.groups) {
    const bool state = arrangement.spec_of(group).state.has_value();
    const std::int64_t ids = arrangement.arena_of(group).num_ids;
    for (std::size_t page = 0; page < group.pages.size(); ++page) {
      LanePlan& lane = arrangement.lanes[arrangement.lane_of(group, page).index()];
      const std::int64_t bytes = Checked(ids) * lane.bytes;
      if (!state || page == 0) arrangement.pools.push_back({0, lane.bytes, {}});
      PoolPlan& pool = arrangement.pools.back();
      lane.pool = {static_cast<std::int64_t>(arrangement.pools.size()) - 1};
      lane.offset = pool.bytes;
      pool.bytes = Checked(pool.bytes) + bytes;
      for (const std::int64_t layer : group.pages[page]) pool.shared_by.push_back({group.spec, layer});
    }
  }
}

}  // namespace

void arrange_dual_pool(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs) {
  const EngineSpec& engine = inputs.engine;
  const bool radix = rules_of(engine.release).radix_pools;
  const BlockSizes blocks = radix ? radix_block_sizes(inputs.model, engine, inputs.log)
                                  : free_block_sizes(inputs.model, engine, inputs.log);
  arrangement.specs = size_own_pages(std::move(specs), blocks, engine, inputs.limits, inputs.log);
  arrangement.extras = make_extras(arrangement.specs, inputs.model, inputs.log);
  for (const bool states : {false, true}) {
    const auto of_kind = [&](const SpecPlan& spec) { return spec.state.has_value() == states; };
    const bool only_one = std::count_if(arrangement.specs.begin(), arrangement.specs.end(), of_kind) == 1;
    for (const SpecPlan& spec : arrangement.specs)
      if (of_kind(spec)) add_spec(arrangement, spec, only_one, engine);
  }
  ArenaPlan& first = arrangement.arenas.front();
  first.bytes_per_id = Checked(first.bytes_per_id) + arrangement.extra_bytes_per_id();
  for (SpecPlan& spec : arrangement.specs) {
    const std::int64_t page = page_of(spec, engine);
    spec.padding_percent = padding_percent(page, spec.unpadded_page_bytes);
  }
  for (const GroupPlan& group : arrangement.groups) derive_spec(arrangement, group, engine, inputs.log);
  if (radix) {
    take_split(arrangement, blocks, inputs);
  } else if (engine.num_blocks) {
    set_by_user(arrangement, *engine.num_blocks);
    for (const ArenaPlan& arena : arrangement.arenas)
      inputs.log.add([&] {
        return Decision{{"ids of " + arena.name, arena.num_ids, "ids"}, "as set by the user", {}, "engine.num_blocks"};
      });
  } else {
    const std::int64_t longest =
        *std::max_element(inputs.limits.max_model_lens.begin(), inputs.limits.max_model_lens.end());
    Checked slot_bytes = 0;
    for (const GroupPlan& group : arrangement.groups)
      if (arrangement.spec_of(group).state) slot_bytes += arrangement.arena_of(group).bytes_per_id;
    Checked rest = engine.memory_bytes;
    if (slot_bytes > 0) {
      const std::int64_t slots = count_slots(arrangement, slot_bytes, longest, engine, inputs.log);
      for (const GroupPlan& group : arrangement.groups)
        if (arrangement.spec_of(group).state) {
          ArenaPlan& arena = arrangement.arenas[group.arena.index()];
          arena.num_ids = slots;
          inputs.log.add([&] {
            return Decision{{"ids of " + arena.name, slots, "ids"}, "ids = slots: a request takes as many of each",
                            {{"slots", slots, "slots"}}, dual_source};
          });
        }
      if (Checked(slots) * slot_bytes > rest)
        throw SpecError(
            "engine.state_requests",
            fmt::format("{} slots take {} bytes, more than the memory of {}; give more memory or fewer requests", slots,
                        std::int64_t(Checked(slots) * slot_bytes), engine.memory_bytes));
      rest -= Checked(slots) * slot_bytes;
    }
    share_tokens(arrangement, rest, longest, inputs.log);
  }
  place_lanes(arrangement);
  if (arrangement.is_uniform()) derive_only_arena(arrangement, inputs.log);
}

}  // namespace hybridkv
