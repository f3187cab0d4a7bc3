#include "verify/bound_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "layout/scale.h"
#include "layout/shift.h"
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
    views.push_back({.view = view,
                     .address = view.bytes,
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
  return {shift(right.key, one_row ? attention.head_size_v * step : between), shift(right.value, -between)};
}

Layout in_elements(const Layout& bytes, std::int64_t element_bytes) {
  const auto elements = unscale(shift(bytes, -(bytes.offset() % element_bytes)), element_bytes);
  expects(elements.has_value(), "strides are whole elements");
  return *elements;
}

}  // namespace hybridkv
