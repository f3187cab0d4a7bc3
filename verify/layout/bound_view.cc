#include "verify/layout/bound_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "layout/scale.h"
#include "layout/shift.h"
#include "layout/slice.h"
#include "planner/view_places.h"

namespace hybridkv {

const StateTensor& tensor_of(const StateSpec& state, const ViewPlan& view) {
  const auto found = std::find_if(state.tensors.begin(), state.tensors.end(),
                                  [&](const StateTensor& tensor) { return tensor.name == view.tensor; });
  expects(found != state.tensors.end(), "a view of a state is one of the tensors of its spec");
  return *found;
}

Layout BoundView::bytes() const {
  if (element_bytes() == 1) return address;
  std::vector<Axis> axes(address.axes().begin(), address.axes().end());
  axes.push_back({"byte", element_bytes(), 1});
  return Layout(axes, address.offset());
}

Layout BoundView::page_bytes(std::int64_t block) const {
  return slice(bytes(), "block", block * kernel_blocks_per_page, kernel_blocks_per_page);
}

Layout BoundView::page_bytes(LaneId lane, std::int64_t block) const {
  const Layout of_block = page_bytes(block);
  return lanes == 1 ? of_block : slice(of_block, "head", lane.value - view.lane.value, 1);
}

LaneId BoundView::lane_of(std::span<const std::int64_t> index) const {
  return lanes == 1 ? view.lane : LaneId{view.lane.value + index[static_cast<std::size_t>(address.find("head"))]};
}

std::int64_t BoundView::engine_byte(std::int64_t byte) const {
  if (!narrow_offsets) return byte;
  const std::int64_t element = element_bytes();
  return static_cast<std::int32_t>(byte / element) * element + byte % element;
}

std::string BoundView::name(const CachePlan& plan) const {
  return fmt::format("{}layer {} {}", plan.specs[view.spec].draft ? "draft " : "", view.layer, view.tensor);
}

std::string BoundView::place(const CachePlan& plan, std::int64_t block, std::int64_t byte) const {
  return fmt::format("{}, pool {}, block {}, byte {}", name(plan), view.pool, block, byte);
}

PageRegion page_region(const CachePlan& plan, const BoundView& view, LaneId lane) {
  const LanePlan& of = plan.lanes[lane.index()];
  const GroupPlan& group = plan.groups[static_cast<std::size_t>(view.group)];
  if (!group.in_lane || plan.cache_order == CacheOrder::bhlnc) return {of.offset, of.stride, of.bytes};
  return {Checked(of.offset) + plan.offset_in_piece(group, static_cast<std::size_t>(view.page)),
          of.stride / group.entries_per_id, group.in_lane->bytes};
}

void require_views(const CachePlan& plan) {
  if (!plan.view_error.empty())
    throw InputError("the engine plans this cache, but makes no views of it: " + plan.view_error);
}

std::vector<BoundView> bind_views(const CachePlan& plan) {
  const std::vector<ViewPlace> places = view_places(plan);
  std::vector<BoundView> views;
  for (std::size_t i = 0; i < plan.views.size(); ++i) {
    const ViewPlan& view = plan.views[i];
    const ViewPlace& place = places[i];
    const SpecPlan& spec = plan.specs[view.spec];
    const std::int64_t kernel_blocks = spec.attention ? spec.block_size_tokens / spec.kernel_block_size_tokens : 1;
    views.push_back({.view = view,
                     .address = view.bytes,
                     .group = place.group,
                     .page = place.page,
                     .table = place.table,
                     .lanes = plan.groups[static_cast<std::size_t>(place.group)].lanes_per_page,
                     .kernel_blocks_per_page = kernel_blocks});
  }
  return views;
}

KeyValueLayouts key_value_bytes(const BoundView& view, const AttentionGeometry& attention) {
  const KeyValueLayouts right =
      key_value_layouts(attention.form, view.address, attention.head_size_k, attention.head_size_v);
  if (!view.kv_exchanged) return right;
  // V comes first: K begins behind a V, which where both are channels of one row is as long as a row of V.
  const std::int64_t step = right.key.stride("channel");
  const std::int64_t between = right.value.offset() - right.key.offset();
  const bool one_row = between == attention.head_size_k * step;
  return {shift(right.key, one_row ? attention.head_size_v * step : between), shift(right.value, -between)};
}

Layout in_elements(const Layout& bytes, std::int64_t element_bytes) {
  const auto elements = unscale(shift(bytes, -(bytes.offset() % element_bytes)), element_bytes);
  expects(elements.has_value(), "strides are whole elements");
  return *elements;
}

}  // namespace hybridkv
