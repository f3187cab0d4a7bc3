#include "planner/tensor_groups.h"

#include "base/checked.h"
#include "planner/grouping.h"

namespace hybridkv {

namespace {

void add_group(Arrangement& arrangement, const SpecPlan& spec, std::optional<std::int64_t> tensor) {
  const ArenaId arena{std::ssize(arrangement.arenas) - 1};
  GroupPlan group{.spec = spec.id,
                  .pages = every_nth_page(spec, 0, 1),
                  .arena = arena,
                  .first_lane = {std::ssize(arrangement.lanes)},
                  .shares_table = !arrangement.groups.empty() && arrangement.groups.back().arena == arena,
                  .tensor = tensor};
  const std::int64_t page = arrangement.content_bytes(group);
  for (std::int64_t lane = 0; lane < spec.num_pages; ++lane) arrangement.lanes.push_back({arena, {}, 0, page, page});
  ArenaPlan& of = arrangement.arenas.back();
  of.bytes_per_id = Checked(of.bytes_per_id) + Checked(spec.num_pages) * page;
  arrangement.groups.push_back(std::move(group));
}

/// Who lies in a pool from its front to its end.
void add_pool(Arrangement& arrangement, const GroupPlan& group, std::size_t first, std::size_t end) {
  const std::int64_t page = arrangement.page_bytes(group);
  const std::int64_t stride = Checked(static_cast<std::int64_t>(end - first)) * page;
  PoolPlan pool{Checked(arrangement.arena_of(group).num_ids) * stride, page, {}};
  for (std::size_t i = first; i < end; ++i) {
    LanePlan& lane = arrangement.lanes[arrangement.lane_of(group, i).index()];
    lane.pool = {std::ssize(arrangement.pools)};
    lane.offset = Checked(static_cast<std::int64_t>(i - first)) * page;
    lane.stride = stride;
    for (const std::int64_t layer : group.pages[i]) pool.shared_by.push_back({group.spec, layer});
  }
  arrangement.pools.push_back(std::move(pool));
}

}  // namespace

void add_tensor_groups(Arrangement& arrangement, const SpecPlan& spec) {
  if (!spec.state) return add_group(arrangement, spec, std::nullopt);
  for (std::int64_t tensor = 0; tensor < std::ssize(spec.state->tensors); ++tensor)
    add_group(arrangement, spec, tensor);
}

void place_side_by_side(Arrangement& arrangement) {
  for (const GroupPlan& group : arrangement.groups) add_pool(arrangement, group, 0, group.pages.size());
}

void place_apart(Arrangement& arrangement) {
  for (const GroupPlan& group : arrangement.groups)
    for (std::size_t page = 0; page < group.pages.size(); ++page)
      add_pool(arrangement, group, page, page + 1);
}

}  // namespace hybridkv
