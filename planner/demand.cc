#include "planner/demand.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/number_text.h"

namespace hybridkv {

namespace {

/// The ids of a table by what they are for. Where entries share ids, a cause has those that it takes beyond the ones
/// before it: states and tokens first, then what is in flight, drafts and exported states.
void add_causes(const TableRule& rule, const GroupPlan& group, std::int64_t tokens, IdsByCause& causes) {
  TableRule counted = rule;
  counted.drafts.reset();
  counted.exported = 0;
  counted.in_flight = {};
  std::int64_t before = 0;
  const auto add = [&](std::int64_t& cause) {
    const std::int64_t all = ids_of_entries(group, table_entries(counted, tokens));
    cause = Checked(cause) + (Checked(all) - before);
    before = all;
  };
  const bool has_states = rule.states > 0 || rule.grows_in_states;
  add(rule.rings > 0            ? causes.other
      : rule.encoder_tokens > 0 ? causes.encoder
      : has_states              ? causes.states
                                : causes.tokens);
  counted.in_flight = rule.in_flight;
  add(causes.in_flight_window);
  counted.drafts = rule.drafts;
  add(causes.speculative);
  counted.exported = rule.exported;
  add(causes.checkpoints);
}

}  // namespace

std::int64_t Demand::total() const {
  Checked sum = 0;
  for (const std::int64_t of_arena : ids) sum += of_arena;
  return sum;
}

bool Demand::is_within(const Demand& most) const {
  for (std::size_t arena = 0; arena < ids.size(); ++arena)
    if (ids[arena] > most.ids[arena]) return false;
  return true;
}

Demand no_demand(const Arrangement& arrangement) {
  return {std::vector<std::int64_t>(arrangement.arenas.size(), 0)};
}

Demand all_ids(const Arrangement& arrangement) {
  Demand demand;
  demand.ids.reserve(arrangement.arenas.size());
  for (const ArenaPlan& arena : arrangement.arenas) demand.ids.push_back(arena.num_ids);
  return demand;
}

Demand usable_ids(const Arrangement& arrangement) {
  Demand demand;
  demand.ids.reserve(arrangement.arenas.size());
  for (const ArenaPlan& arena : arrangement.arenas) demand.ids.push_back(arena.usable_ids());
  return demand;
}

std::int64_t ids_of_entries(const GroupPlan& group, std::int64_t entries) {
  if (group.entries_per_id > 1) return ceil_div(entries, group.entries_per_id);
  return Checked(entries) * group.ids_per_entry;
}

std::int64_t entries_in_ids(const GroupPlan& group, std::int64_t ids) {
  return Checked(ids) * group.entries_per_id / group.ids_per_entry;
}

std::int64_t group_ids(const Arrangement& arrangement, const GroupPlan& group, std::int64_t tokens) {
  return ids_of_entries(group, table_entries(table_rule(arrangement, arrangement.spec_of(group)), tokens));
}

IdsByCause ids_by_cause(const Arrangement& arrangement, std::int64_t tokens) {
  IdsByCause causes;
  for (const GroupPlan& group : arrangement.groups)
    if (!group.shares_table) add_causes(table_rule(arrangement, arrangement.spec_of(group)), group, tokens, causes);
  causes.other = Checked(causes.other) + arrangement.extra_ids_per_request();
  return causes;
}

Demand request_demand(const Arrangement& arrangement, std::int64_t tokens) {
  return load_demand(arrangement, {&tokens, 1});
}

Demand load_demand(const Arrangement& arrangement, std::span<const std::int64_t> tokens) {
  Demand demand = no_demand(arrangement);
  for (const std::int64_t of_request : tokens) add_request(arrangement, of_request, demand);
  return demand;
}

void add_request(const Arrangement& arrangement, std::int64_t tokens, Demand& demand) {
  const GroupPlan* counted = nullptr;
  std::int64_t ids = 0;
  for (const GroupPlan& group : arrangement.groups) {
    if (group.shares_table) continue;
    if (counted == nullptr || !needs_as_many(*counted, group)) ids = group_ids(arrangement, group, tokens);
    counted = &group;
    std::int64_t& all = demand.ids[group.arena.index()];
    all = Checked(all) + ids;
  }
  demand.ids[0] = Checked(demand.ids[0]) + arrangement.extra_ids_per_request();
}

bool fits(const Arrangement& arrangement, const Demand& demand) {
  return demand.is_within(usable_ids(arrangement));
}

bool fits_as_engines_check(const Arrangement& arrangement, const Demand& demand) {
  const bool reserves = arrangement.rules->reserves_null_block;
  return demand.is_within(reserves ? usable_ids(arrangement) : all_ids(arrangement));
}

std::int64_t bytes_of(const Arrangement& arrangement, const Demand& demand) {
  Checked bytes = 0;
  for (std::size_t arena = 0; arena < demand.ids.size(); ++arena)
    bytes += Checked(demand.ids[arena]) * arrangement.arenas[arena].bytes_per_id;
  return bytes;
}

std::string ids_text(const Arrangement& arrangement, const Demand& demand) {
  if (arrangement.is_uniform()) return human_plural(demand.ids.front(), "block");
  std::string text;
  for (std::size_t arena = 0; arena < demand.ids.size(); ++arena)
    text += fmt::format("{}{} of {}", arena == 0 ? "" : arena + 1 < demand.ids.size() ? ", " : " and ",
                        arena == 0 ? human_plural(demand.ids[arena], "id") : human_count(demand.ids[arena]),
                        arrangement.arenas[arena].name);
  return text;
}

}  // namespace hybridkv
