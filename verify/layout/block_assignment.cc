#include "verify/layout/block_assignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/number_text.h"
#include "base/random.h"
#include "planner/demand.h"

namespace hybridkv {

namespace {

/// `count` different numbers from 1 to num_blocks - 1 in random order, among them the highest ones.
std::vector<std::int64_t> pick_ids(std::int64_t count, std::int64_t num_blocks, std::uint64_t seed) {
  std::set<std::int64_t> chosen;
  // Half of them from the far end of the pool, every second one; the rest anywhere.
  for (std::int64_t id = num_blocks - 1; id >= 1 && static_cast<std::int64_t>(chosen.size()) < (count + 1) / 2; id -= 2)
    chosen.insert(id);
  std::uint64_t draw = mix(seed);
  while (static_cast<std::int64_t>(chosen.size()) < count && 2 * count < num_blocks) {
    draw = mix(draw);
    chosen.insert(1 + static_cast<std::int64_t>(draw % static_cast<std::uint64_t>(num_blocks - 1)));
  }
  for (std::int64_t id = num_blocks - 1; static_cast<std::int64_t>(chosen.size()) < count; --id) chosen.insert(id);
  std::vector<std::int64_t> ids(chosen.begin(), chosen.end());
  for (std::size_t i = ids.size(); i > 1; --i) {
    draw = mix(draw);
    std::swap(ids[i - 1], ids[draw % i]);
  }
  return ids;
}

bool shares_first_block(const SpecPlan& spec, std::span<const BatchRequest> requests) {
  if (!spec.attention || spec.is_cross() || spec.attention->window_tokens > 0 || requests.size() < 2) return false;
  return std::min(requests[0].context(), requests[1].context()) >= spec.block_size_tokens;
}

/// The entry at a position: the next id, or where ids are split one of the places of the last one taken.
void set_entry(std::vector<std::int64_t>& table, std::int64_t position, std::int64_t entries_per_id,
               std::vector<std::int64_t>::const_iterator& next) {
  const std::int64_t number = position % entries_per_id;
  if (number > 0) {
    table[position] = table[position - 1] + 1;
    return;
  }
  const std::int64_t used = std::min(entries_per_id, std::ssize(table) - position);
  table[position] = *next++ * entries_per_id + (entries_per_id - used);
}

}  // namespace

std::vector<std::int64_t> BlockAssignment::held_by(std::size_t group) const {
  std::set<std::int64_t> held;
  for (const auto& request : ids[group]) held.insert(request.begin(), request.end());
  return {held.begin(), held.end()};
}

std::vector<std::int64_t> BlockAssignment::held_by(std::size_t group, std::int64_t piece) const {
  std::set<std::int64_t> held;
  const auto step = static_cast<std::size_t>(ids_per_entry[group]);
  for (const auto& request : ids[group])
    for (std::size_t position = static_cast<std::size_t>(piece); position < request.size(); position += step)
      held.insert(request[position]);
  return {held.begin(), held.end()};
}

std::vector<std::int64_t> BlockAssignment::ids_held_by(const CachePlan& plan, std::size_t group) const {
  std::vector<std::int64_t> held = held_by(group);
  for (std::int64_t& place : held) place /= plan.groups[group].entries_per_id;
  held.erase(std::unique(held.begin(), held.end()), held.end());
  return held;
}

std::vector<std::int64_t> BlockAssignment::unused_places(const CachePlan& plan, std::size_t group) const {
  const std::int64_t entries = plan.groups[group].entries_per_id;
  std::vector<std::int64_t> unused;
  if (entries == 1) return unused;
  const std::vector<std::int64_t> held = held_by(group);
  for (const std::int64_t id : ids_held_by(plan, group))
    for (std::int64_t place = id * entries; place < (id + 1) * entries; ++place)
      if (!std::binary_search(held.begin(), held.end(), place)) unused.push_back(place);
  return unused;
}

BlockAssignment assign_blocks(const CachePlan& plan, std::span<const BatchRequest> requests, std::uint64_t seed) {
  BlockAssignment assignment;
  Demand needed = no_demand(plan);
  std::int64_t longest = 0;
  for (const GroupPlan& group : plan.groups) {
    assignment.ids_per_entry.push_back(group.ids_per_entry);
    if (group.shares_table) {
      assignment.ids.emplace_back();
      continue;
    }
    auto& tables = assignment.ids.emplace_back();
    for (const BatchRequest& request : requests) {
      const std::int64_t entries = table_entries(table_rule(plan, plan.spec_of(group)), request.tokens);
      const std::int64_t count = Checked(entries) * group.ids_per_entry;
      tables.emplace_back(count, 0);
      needed.ids[group.arena.index()] += ids_of_entries(group, entries);
      longest = std::max(longest, count);
    }
  }
  if (!fits(plan, needed)) {
    const Demand usable = usable_ids(plan);
    throw InputError(fmt::format("verification of {} needs {}, the pools have {} usable ones; give "
                                 "fewer or shorter sequences in verify.requests, or more memory",
                                 human_plural(std::ssize(requests), "request"), ids_text(plan, needed),
                                 plan.is_uniform() ? std::to_string(usable.total()) : ids_text(plan, usable)));
  }
  for (std::size_t arena = 0; arena < plan.arenas.size(); ++arena) {
    const std::int64_t num_ids = plan.arenas[arena].num_ids;
    const std::int64_t first_id = plan.arenas[arena].first_id(), before = 1 - first_id;
    std::vector<std::int64_t> ids =
        pick_ids(needed.ids[arena], num_ids + before, arena == 0 ? seed : mix(seed, arena));
    for (std::int64_t& id : ids) id -= before;
    std::vector<std::int64_t>::const_iterator next = ids.begin();
    for (std::int64_t position = 0; position < longest; ++position)
      for (std::size_t group = 0; group < plan.groups.size(); ++group)
        for (auto& request : assignment.ids[group])
          if (plan.groups[group].arena.index() == arena && position < static_cast<std::int64_t>(request.size()))
            set_entry(request, position, plan.groups[group].entries_per_id, next);
    const std::set<std::int64_t> held(ids.begin(), ids.end());
    auto& guards = assignment.guards.emplace_back();
    for (std::int64_t id = num_ids - 1; id >= first_id && guards.size() < 2; --id)
      if (!held.contains(id)) guards.push_back(id);
  }
  for (std::size_t group = 0; group < plan.groups.size(); ++group)
    if (!plan.groups[group].shares_table && shares_first_block(plan.specs[plan.groups[group].spec], requests)) {
      std::int64_t& first = assignment.ids[group][0].front();
      std::int64_t& second = assignment.ids[group][1].front();
      // The higher one, so that the highest id of the arena stays in use; of an id that is split the first request's.
      first = second = plan.groups[group].entries_per_id > 1 ? first : std::max(first, second);
    }
  for (std::size_t group = 1; group < plan.groups.size(); ++group)
    if (plan.groups[group].shares_table) assignment.ids[group] = assignment.ids[group - 1];
  return assignment;
}

}  // namespace hybridkv
