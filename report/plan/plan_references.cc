#include "report/plan/plan_references.h"

#include <fmt/format.h>

#include "base/checked.h"
#include "planner/cache_orders.h"
#include "report/json_archive.h"

namespace hybridkv {

namespace {

/// Pages of one allocation hold what their layers keep, from which the tensors follow. Pre: groups refer to specs and
/// lanes that exist.
void check_pages(const CachePlan& plan, const std::string& path) {
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const SpecPlan& spec = plan.spec_of(plan.groups[i]);
    const HeadPlaces places = head_places(spec);
    const std::int64_t used =
        Checked(places.heads) * places.content_bytes * (spec.state ? 1 : spec.block_entries());
    if (const std::int64_t page = plan.page_bytes(plan.groups[i]); page < used)
      JsonReader::fail(fmt::format("{}.groups[{}]", path, i),
                       fmt::format("has pages of {} bytes for {} bytes of a layer", page, used));
  }
}

}  // namespace

void check_references(const CachePlan& plan, const std::string& path) {
  if (plan.capacity.empty()) JsonReader::fail(path + ".capacity", "needs at least one length");
  if (plan.groups.empty()) JsonReader::fail(path + ".groups", "needs at least one group");
  const auto check = [&](const std::string& where, std::int64_t index, std::size_t count, const char* what) {
    if (index < 0 || static_cast<std::size_t>(index) >= count)
      JsonReader::fail(path + where, fmt::format("is {}, but the plan has {} {}", index, count, what));
  };
  for (std::size_t i = 0; i < plan.specs.size(); ++i) {
    const SpecPlan& spec = plan.specs[i];
    if (spec.id != static_cast<std::int64_t>(i))
      JsonReader::fail(fmt::format("{}.specs[{}].id", path, i),
                       fmt::format("is {}, but must be the position", spec.id));
    if (spec.attention.has_value() == spec.state.has_value())
      JsonReader::fail(fmt::format("{}.specs[{}]", path, i), "must have either attention or state");
    if (plan.cache_order && spec.attention && spec.attention->kv_heads < 1)
      JsonReader::fail(fmt::format("{}.specs[{}].attention.kv_heads", path, i), "must be at least 1");
  }
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const GroupPlan& group = plan.groups[i];
    check(fmt::format(".groups[{}].spec", i), group.spec, plan.specs.size(), "specs");
    check(fmt::format(".groups[{}].arena", i), group.arena.value, plan.arenas.size(), "arenas");
    check(fmt::format(".groups[{}].first_lane", i), group.first_lane.value, plan.lanes.size(), "lanes");
    if (group.ids_per_entry < 1)
      JsonReader::fail(fmt::format("{}.groups[{}].ids_per_entry", path, i), "must be at least 1");
    if (group.entries_per_id < 1)
      JsonReader::fail(fmt::format("{}.groups[{}].entries_per_id", path, i), "must be at least 1");
    if (group.lanes_per_page < 1)
      JsonReader::fail(fmt::format("{}.groups[{}].lanes_per_page", path, i), "must be at least 1");
    if (!group.tensor) continue;
    const std::optional<StateSpec>& state = plan.specs[static_cast<std::size_t>(group.spec)].state;
    check(fmt::format(".groups[{}].tensor", i), *group.tensor, state ? state->tensors.size() : 0,
          "tensors in the state of that spec");
  }
  if (plan.cache_order) check_pages(plan, path);
  for (std::size_t i = 0; i < plan.lanes.size(); ++i) {
    check(fmt::format(".lanes[{}].arena", i), plan.lanes[i].arena.value, plan.arenas.size(), "arenas");
    check(fmt::format(".lanes[{}].pool", i), plan.lanes[i].pool.value, plan.pools.size(), "pools");
  }
  for (std::size_t i = 0; i < plan.pools.size(); ++i)
    for (std::size_t j = 0; j < plan.pools[i].shared_by.size(); ++j)
      check(fmt::format(".pools[{}].shared_by[{}].spec", i, j), plan.pools[i].shared_by[j].spec, plan.specs.size(),
            "specs");
  for (std::size_t i = 0; i < plan.waste.per_block.size(); ++i)
    check(fmt::format(".waste.per_block[{}].group", i), plan.waste.per_block[i].group, plan.groups.size(), "groups");
  for (std::size_t i = 0; i < plan.views.size(); ++i) {
    check(fmt::format(".views[{}].spec", i), plan.views[i].spec, plan.specs.size(), "specs");
    check(fmt::format(".views[{}].pool", i), plan.views[i].pool, plan.pools.size(), "pools");
    check(fmt::format(".views[{}].lane", i), plan.views[i].lane.value, plan.lanes.size(), "lanes");
  }
}

}  // namespace hybridkv
