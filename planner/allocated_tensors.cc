#include "planner/allocated_tensors.h"

#include "attention/cache_layout.h"
#include "base/checked.h"
#include "planner/cache_orders.h"

namespace hybridkv {

Layout layers_in_allocation(const Arrangement& arrangement, const GroupPlan& group, std::int64_t kernel_tokens) {
  const SpecPlan& spec = arrangement.spec_of(group);
  const HeadPlaces places = head_places(spec);
  const std::int64_t tokens = spec.state ? 1 : spec.block_entries(), page = arrangement.page_bytes(group);
  const bool is_padded = page != std::int64_t(Checked(places.heads) * tokens * places.content_bytes);
  return cache_layout({.order = *arrangement.cache_order,
                       .layers = static_cast<std::int64_t>(group.pages.size()),
                       .blocks = arrangement.arena_of(group).num_ids,
                       .heads = places.heads,
                       .tokens = tokens,
                       .content_bytes = places.content_bytes,
                       .padded_page_bytes = is_padded ? std::optional(page) : std::nullopt,
                       .block_bytes = arrangement.lanes[group.first_lane.index()].stride,
                       .kernel_tokens = kernel_tokens});
}

AllocatedTensor allocated_tensor(const Arrangement& arrangement, const GroupPlan& group) {
  expects(arrangement.cache_order && !group.pages.empty(), "tensors of one allocation, of a group that has layers");
  const SpecPlan& spec = arrangement.spec_of(group);
  const Layout layers = layers_in_allocation(arrangement, group, spec.state ? 1 : spec.block_entries());
  return {group.layers(), layers.stride("layer"), layers.stride("block"),
          Checked(arrangement.lanes[group.first_lane.index()].offset) + arrangement.offset_in_piece(group, 0),
          arrangement.pool_bytes()};
}

std::vector<AllocatedTensor> allocated_tensors(const Arrangement& arrangement) {
  std::vector<AllocatedTensor> tensors;
  for (const GroupPlan& group : arrangement.groups)
    if (!group.pages.empty()) tensors.push_back(allocated_tensor(arrangement, group));
  return tensors;
}

}  // namespace hybridkv
