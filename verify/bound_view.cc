#include "verify/bound_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "layout/slice.h"

namespace hybridkv {

namespace {

using PlaceOfLayer = std::tuple<std::int64_t, LaneId, std::int64_t>;  // spec, lane, layer

std::map<PlaceOfLayer, std::int64_t> groups_of_layers(const CachePlan& plan) {
  std::map<PlaceOfLayer, std::int64_t> groups;
  for (std::size_t i = 0; i < plan.groups.size(); ++i)
    for (std::size_t page = 0; page < plan.groups[i].pages.size(); ++page)
      for (std::int64_t layer : plan.groups[i].pages[page])
        groups.emplace(PlaceOfLayer{plan.groups[i].spec, plan.lane_of(plan.groups[i], page), layer},
                       static_cast<std::int64_t>(i));
  return groups;
}

Layout in_bytes(const Layout& elements, std::int64_t element_bytes) {
  std::vector<Axis> axes(elements.axes().begin(), elements.axes().end());
  for (Axis& axis : axes) axis.stride = Checked(axis.stride) * element_bytes;
  return Layout(axes, Checked(elements.offset()) * element_bytes);
}

Layout moved(const Layout& layout, std::int64_t offset) { return Layout(layout.axes(), offset); }

/// The view's whole elements, and of its offset and its page what the plan has in bytes beyond them.
Layout state_address(const CachePlan& plan, const ViewPlan& view, const Layout& whole) {
  const StateSpec& state = *plan.specs[view.spec].state;
  const std::int64_t element = element_bytes(view.dtype);
  const LanePlan& lane = plan.lanes[view.lane.index()];
  std::vector<Axis> axes(whole.axes().begin(), whole.axes().end());
  for (Axis& axis : axes)
    if (axis.name == AxisName("block")) axis.stride += lane.stride % element;
  return Layout(axes, whole.offset() + (lane.offset + tensor_of(state, view).byte_offset) % element);
}

}  // namespace

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

std::vector<BoundView> bind_views(const CachePlan& plan) {
  const std::map<PlaceOfLayer, std::int64_t> groups = groups_of_layers(plan);
  std::vector<BoundView> views;
  for (const ViewPlan& view : plan.views) {
    const SpecPlan& spec = plan.specs[view.spec];
    const auto group = groups.find({view.spec, view.lane, view.layer});
    expects(group != groups.end(), "a view of the plan belongs to a group");
    const std::int64_t kernel_blocks = spec.attention ? spec.block_size_tokens / spec.kernel_block_size_tokens : 1;
    const Layout whole = in_bytes(view.layout, element_bytes(view.dtype));
    views.push_back({.view = view,
                     .address = spec.state ? state_address(plan, view, whole) : whole,
                     .group = group->second,
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
  return {moved(right.key, right.key.offset() + (one_row ? attention.head_size_v * step : between)),
          moved(right.value, right.key.offset())};
}

Layout in_elements(const Layout& bytes, std::int64_t element_bytes) {
  std::vector<Axis> axes(bytes.axes().begin(), bytes.axes().end());
  for (Axis& axis : axes) {
    expects(axis.stride % element_bytes == 0, "strides are whole elements");
    axis.stride /= element_bytes;
  }
  return Layout(axes, bytes.offset() / element_bytes);
}

}  // namespace hybridkv
