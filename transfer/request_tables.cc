#include "transfer/request_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/number_text.h"
#include "base/random.h"

namespace hybridkv {

namespace {

/// Positions of a group's table, and the first of them that holds tokens of use.
struct TableShape {
  std::int64_t entries = 0;
  std::int64_t first_held = 0;
  std::int64_t held() const { return entries - first_held; }
};

TableShape shape_of(const CachePlan& plan, const GroupPlan& group, std::int64_t tokens) {
  const SpecPlan& spec = plan.spec_of(group);
  if (!spec.attention) return {1, 0};
  if (spec.is_cross()) return {ceil_div(spec.encoder_tokens, spec.block_size_tokens), 0};
  return {ceil_div(tokens, spec.block_size_tokens),
          (tokens - spec.live_tokens(tokens)) / spec.block_size_tokens};
}

Demand demand_of(const CachePlan& plan, std::int64_t tokens) {
  Demand demand = no_demand(plan);
  for (const GroupPlan& group : plan.groups)
    if (!group.shares_table)
      demand.ids[group.arena.index()] += ids_of_entries(group, shape_of(plan, group, tokens).held());
  return demand;
}

/// So many ids of an arena, in the order in which tables take them.
std::vector<std::int64_t> choose_ids(const ArenaPlan& arena, std::int64_t count, IdOrder order, std::uint64_t seed) {
  std::vector<std::int64_t> ids;
  ids.reserve(static_cast<std::size_t>(count));
  if (order == IdOrder::consecutive) {
    for (std::int64_t i = 0; i < count; ++i) ids.push_back(arena.first_id() + i);
    return ids;
  }
  // Every second id from the highest down is no neighbour of another; only where these are too few the rest follows.
  const std::int64_t apart = (arena.usable_ids() + 1) / 2;
  if (count > apart) {
    for (std::int64_t id = arena.num_ids - 1; id >= arena.first_id(); --id) ids.push_back(id);
  } else {
    // A sample without repetition, of which the highest is always one (Floyd).
    std::set<std::int64_t> chosen;
    if (count > 0) chosen.insert(0);
    for (std::int64_t i = apart - count + 1; i < apart; ++i) {
      seed = mix(seed);
      const std::int64_t drawn = static_cast<std::int64_t>(seed % static_cast<std::uint64_t>(i + 1));
      chosen.insert(chosen.contains(drawn) ? i : drawn);
    }
    for (const std::int64_t position : chosen) ids.push_back(arena.num_ids - 1 - 2 * position);
  }
  for (std::size_t i = ids.size(); i > 1; --i) {
    seed = mix(seed);
    std::swap(ids[i - 1], ids[seed % i]);
  }
  ids.resize(static_cast<std::size_t>(count));
  return ids;
}

std::string stage_text(const TransferSide& side, std::size_t stage) {
  return side.stages.size() > 1 ? fmt::format("stage {}, ", stage) : "";
}

}  // namespace

RequestTables make_tables(const TransferSide& side, std::int64_t tokens, IdOrder order, std::uint64_t seed) {
  expects(tokens >= 1, "a request has tokens");
  RequestTables tables;
  for (std::size_t stage = 0; stage < side.stages.size(); ++stage) {
    const CachePlan& plan = side.stages[stage];
    const Demand demand = demand_of(plan, tokens);
    if (const Demand usable = usable_ids(plan); !demand.is_within(usable))
      throw InputError(fmt::format("{}a request of {} takes {}, the pools have {} usable; give fewer tokens or "
                                   "more memory",
                                   stage_text(side, stage), human_plural(tokens, "token"), ids_text(plan, demand),
                                   ids_text(plan, usable)));
    std::vector<std::vector<std::int64_t>> ids;
    for (std::size_t arena = 0; arena < plan.arenas.size(); ++arena)
      ids.push_back(choose_ids(plan.arenas[arena], demand.ids[arena], order, mix(seed, stage * 64 + arena)));
    std::vector<std::size_t> taken(plan.arenas.size());
    auto& of_stage = tables.ids.emplace_back();
    for (const GroupPlan& group : plan.groups) {
      if (group.shares_table) {
        of_stage.push_back(std::vector<std::int64_t>(of_stage.back()));
        continue;
      }
      const TableShape shape = shape_of(plan, group, tokens);
      auto& table = of_stage.emplace_back(static_cast<std::size_t>(shape.first_held), nobody_holds);
      const std::vector<std::int64_t>& from = ids[group.arena.index()];
      std::size_t& next = taken[group.arena.index()];
      for (std::int64_t entry = 0; entry < shape.held(); ++entry) {
        const std::int64_t place = entry % group.entries_per_id;
        for (std::int64_t piece = 0; piece < group.ids_per_entry; ++piece)
          if (place == 0)
            table.push_back(from[next++] * group.entries_per_id);
          else
            table.push_back(table.back() + 1);
      }
    }
  }
  return tables;
}

std::vector<std::int64_t> held_ids(const GroupPlan& group, const std::vector<std::int64_t>& table) {
  std::vector<std::int64_t> ids;
  for (const std::int64_t entry : table)
    if (entry != nobody_holds) ids.push_back(entry / group.entries_per_id);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Demand num_held_ids(const CachePlan& plan, const std::vector<std::vector<std::int64_t>>& tables) {
  Demand demand = no_demand(plan);
  for (std::size_t i = 0; i < tables.size() && i < plan.groups.size(); ++i) {
    const GroupPlan& group = plan.groups[i];
    if (!group.shares_table) demand.ids[group.arena.index()] += std::ssize(held_ids(group, tables[i]));
  }
  return demand;
}

void check_tables(const TransferSide& side, const RequestTables& tables, std::int64_t tokens,
                  const std::string& where) {
  const auto refuse = [&](const std::string& what) { throw InputError(fmt::format("{}: {}", where, what)); };
  if (tables.ids.size() != side.stages.size())
    refuse(fmt::format("holds tables of {}, this side has {}", human_plural(std::ssize(tables.ids), "stage"),
                       side.stages.size()));
  for (std::size_t stage = 0; stage < side.stages.size(); ++stage) {
    const CachePlan& plan = side.stages[stage];
    const std::string of_stage = stage_text(side, stage);
    if (tables.ids[stage].size() != plan.groups.size())
      refuse(fmt::format("{}holds {}, this side has {}", of_stage,
                         human_plural(std::ssize(tables.ids[stage]), "table"),
                         human_plural(std::ssize(plan.groups), "group")));
    std::set<std::pair<std::size_t, std::int64_t>> held;
    for (std::size_t i = 0; i < plan.groups.size(); ++i) {
      const GroupPlan& group = plan.groups[i];
      const std::vector<std::int64_t>& table = tables.ids[stage][i];
      if (group.shares_table) {
        if (table != tables.ids[stage][i - 1])
          refuse(fmt::format("{}group {} shares the table of group {}, but is given another", of_stage, i, i - 1));
        continue;
      }
      const TableShape shape = shape_of(plan, group, tokens);
      const std::int64_t expected = shape.entries * group.ids_per_entry;
      if (std::ssize(table) != expected)
        refuse(fmt::format("{}group {} has {}; a request of {} takes {}", of_stage, i,
                           human_plural(std::ssize(table), "id"), human_plural(tokens, "token"), expected));
      const ArenaPlan& arena = plan.arena_of(group);
      const std::int64_t first = arena.first_id() * group.entries_per_id;
      const std::int64_t end = arena.num_ids * group.entries_per_id;
      for (std::size_t position = 0; position < table.size(); ++position) {
        const std::int64_t id = table[position];
        if (static_cast<std::int64_t>(position) < shape.first_held * group.ids_per_entry) continue;
        if (id < first || id >= end)
          refuse(fmt::format("{}group {}, position {}: id {} is none that a request can hold; they are {} to {}",
                             of_stage, i, position, id, first, end - 1));
        if (!held.emplace(group.arena.index(), id).second)
          refuse(fmt::format("{}group {}, position {}: id {} is held twice", of_stage, i, position, id));
      }
    }
  }
}

}  // namespace hybridkv
