#include "planner/allocated_tensors.h"

#include "attention/cache_layout.h"
#include "base/checked.h"
#include "planner/cache_orders.h"

namespace hybridkv {

namespace {

AllocatedTensor tensor_of_page(const Arrangement& arrangement, const GroupPlan& group, const Layout& layers,
                               std::size_t page, std::vector<std::int64_t> of) {
  return {std::move(of), layers.stride("layer"), layers.stride("block"),
          Checked(arrangement.lanes[arrangement.lane_of(group, page).index()].offset) +
              arrangement.offset_in_piece(group, page),
          arrangement.pool_bytes()};
}

Layout before_kernels_split(const Arrangement& arrangement, const GroupPlan& group) {
  const SpecPlan& spec = arrangement.spec_of(group);
  return layers_in_allocation(arrangement, group, spec.state ? 1 : spec.block_entries());
}

}  // namespace

bool lie_evenly(const Arrangement& arrangement, const GroupPlan& group) {
  const SpecPlan& spec = arrangement.spec_of(group);
  return spec.layers_per_page == 1 || arrangement.page_bytes(group) == spec.unpadded_page_bytes;
}

Layout layers_in_allocation(const Arrangement& arrangement, const GroupPlan& group, std::int64_t kernel_tokens) {
  const SpecPlan& spec = arrangement.spec_of(group);
  const HeadPlaces places = head_places(spec);
  const std::int64_t tokens = spec.state ? 1 : spec.block_entries(), page = arrangement.page_bytes(group);
  const std::int64_t pages = lie_evenly(arrangement, group) ? std::ssize(group.pages) : 1;
  const bool is_padded = spec.layers_per_page == 1 &&
                         page != std::int64_t(Checked(places.heads) * tokens * places.content_bytes);
  return cache_layout({.order = *arrangement.cache_order,
                       .layers = Checked(pages) * spec.layers_per_page,
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
  return tensor_of_page(arrangement, group, before_kernels_split(arrangement, group), 0,
                        lie_evenly(arrangement, group) ? group.layers() : group.pages.front());
}

std::vector<AllocatedTensor> allocated_tensors(const Arrangement& arrangement) {
  std::vector<AllocatedTensor> tensors;
  for (const GroupPlan& group : arrangement.groups) {
    if (group.pages.empty()) continue;
    if (lie_evenly(arrangement, group)) {
      tensors.push_back(allocated_tensor(arrangement, group));
      continue;
    }
    const Layout layers = before_kernels_split(arrangement, group);
    for (std::size_t page = 0; page < group.pages.size(); ++page)
      tensors.push_back(tensor_of_page(arrangement, group, layers, page, group.pages[page]));
  }
  return tensors;
}

}  // namespace hybridkv
