#include "base/checked.h"
#include "planner/exact_pages.h"
#include "planner/extras.h"
#include "planner/memory_split.h"
#include "planner/page_sizes.h"
#include "planner/split_decisions.h"
#include "planner/strategies.h"
#include "planner/tree_split.h"

namespace hybridkv {

namespace {

/// Derives the sizes of an arrangement that holds tokens alone. They lie as in pages of one size.
void derive_only_arena(const Arrangement& arrangement, const DerivationLog& log) {
  const ArenaPlan& arena = arrangement.arenas.front();
  const Term ids{"ids", arena.num_ids, "ids"};
  log.add([&] {
    return Decision{{"P", arrangement.page_bytes(), "bytes"}, "P = page: there is no other",
                    {{"page", arrangement.page_bytes(), "bytes"}}, log.cite(RuleOf::dual_pool)};
  });
  log.add([&] {
    return Decision{{"g", static_cast<std::int64_t>(arrangement.pools.size()), "pages per group"},
                    "a pool for each page",
                    {},
                    log.cite(RuleOf::dual_pool)};
  });
  log.add([&] {
    return Decision{{"num_blocks", arena.num_ids, "blocks"}, "num_blocks = ids", {ids}, log.cite(RuleOf::dual_pool)};
  });
  log.add([&] {
    return Decision{{"usable blocks", arena.usable_ids(), "blocks"}, "usable = ids - 1: id 0 is the null id", {ids},
                    log.cite(RuleOf::dual_pool)};
  });
}

/// Takes the numbers of slots and pages from an engine that splits its memory by rules of its own. Id 0 of each arena
/// is a dummy.
void take_split(Arrangement& arrangement, const BlockSizes& blocks, const ArrangeInputs& inputs) {
  arrangement.tree_pools = make_tree_pools(arrangement.specs, blocks, inputs);
  const TreePools& tree_pools = *arrangement.tree_pools;
  const std::int64_t pages = tree_pools.split.token_slots / tree_pools.page_tokens;
  derive_printed(arrangement, inputs.log);
  for (const GroupPlan& group : arrangement.groups) {
    ArenaPlan& arena = arrangement.arenas[group.arena.index()];
    const bool state = arrangement.spec_of(group).state.has_value();
    arena.num_ids = (state ? tree_pools.split.state_slots : pages) + 1;
    inputs.log.add([&] {
      return Decision{{"ids of " + arena.name, arena.num_ids, "ids"},
                      state ? "ids = K + 1: slot 0 is a dummy" : "ids = tokens / page + 1: page 0 is a dummy",
                      state ? std::vector<Term>{{"K", tree_pools.split.state_slots, "slots"}}
                            : std::vector<Term>{{"tokens", tree_pools.split.token_slots, "tokens"},
                                                {"page", tree_pools.page_tokens, "tokens"}},
                      inputs.log.cite(RuleOf::dual_pool)};
    });
    inputs.log.add([&] {
      return Decision{{"bytes of all ids of " + arena.name, Checked(arena.num_ids) * arena.bytes_per_id, "bytes"},
                      "bytes = ids * bytes of an id",
                      {{"ids", arena.num_ids, "ids"}, {"bytes of an id", arena.bytes_per_id, "bytes"}},
                      inputs.log.cite(RuleOf::dual_pool)};
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
  const bool tree_pools = engine.rules->tree_pools;
  const BlockSizes blocks = tree_pools ? tree_block_sizes(inputs.model, engine, inputs.log)
                                       : free_block_sizes(inputs.model, engine, inputs.log);
  arrangement.specs = size_own_pages(std::move(specs), blocks, engine, inputs.limits, inputs.log);
  arrangement.extras = make_extras(arrangement.specs, inputs.model, inputs.log);
  // What a request has there beside tokens and states lies in buffers of its own, outside the memory that is split.
  if (tree_pools)
    std::erase_if(arrangement.extras, [](const ExtraPlan& extra) { return extra.blocks_per_request > 0; });
  const auto unit_of = [&](const SpecPlan& spec) { return exact_unit({&spec, 1}, engine); };
  for (const bool states : {false, true})
    for (const SpecPlan& spec : arrangement.specs)
      if (spec.state.has_value() == states)
        add_own_arena(arrangement, spec, is_only_one(arrangement, spec), exact_page_bytes(spec, unit_of(spec)));
  ArenaPlan& first = arrangement.arenas.front();
  first.bytes_per_id = Checked(first.bytes_per_id) + arrangement.extra_bytes_per_id();
  for (const GroupPlan& group : arrangement.groups) {
    SpecPlan& spec = arrangement.specs[static_cast<std::size_t>(group.spec)];
    note_exact_page(spec, unit_of(spec), RuleOf::dual_pool, inputs.log);
  }
  if (tree_pools)
    take_split(arrangement, blocks, inputs);
  else
    split_memory(arrangement, inputs, RuleOf::dual_pool);
  place_lanes(arrangement);
  if (arrangement.is_uniform()) derive_only_arena(arrangement, inputs.log);
}

}  // namespace hybridkv
