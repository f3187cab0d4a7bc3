#include "verify/bound_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "layout/slice.h"

namespace hybridkv {

namespace {

std::int64_t group_of(const CachePlan& plan, const ViewPlan& view) {
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const GroupPlan& group = plan.groups[i];
    if (group.spec != view.spec || static_cast<std::size_t>(view.pool) >= group.pages.size()) continue;
    const auto& page = group.pages[view.pool];
    if (std::find(page.begin(), page.end(), view.layer) != page.end()) return static_cast<std::int64_t>(i);
  }
  throw std::logic_error("a view of the plan belongs to no group");
}

}  // namespace

Layout BoundView::page_layout(std::int64_t block) const {
  return slice(view.layout, "block", block * kernel_blocks_per_page, kernel_blocks_per_page);
}

std::int64_t BoundView::byte_address(std::span<const std::int64_t> index) const {
  std::int64_t offset = view.layout.at(index);
  if (narrow_offsets) offset = static_cast<std::int32_t>(offset);
  return offset * element_bytes() + byte_shift;
}

std::string BoundView::name(const CachePlan& plan) const {
  return fmt::format("{}layer {} {}", plan.specs[view.spec].draft ? "draft " : "", view.layer, view.tensor);
}

std::vector<BoundView> bind_views(const CachePlan& plan) {
  std::vector<BoundView> views;
  for (const ViewPlan& view : plan.views) {
    const SpecPlan& spec = plan.specs[view.spec];
    const std::int64_t kernel_blocks = spec.attention ? spec.block_size_tokens / spec.kernel_block_size_tokens : 1;
    views.push_back({.view = view, .group = group_of(plan, view), .kernel_blocks_per_page = kernel_blocks});
  }
  return views;
}

}  // namespace hybridkv
