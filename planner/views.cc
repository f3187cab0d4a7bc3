#include "planner/views.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "layout/repeat.h"
#include "layout/scale.h"
#include "layout/shift.h"
#include "layout/slice.h"
#include "layout/split.h"
#include "planner/allocated_tensors.h"

namespace hybridkv {

namespace {

/// One tensor of one page as bytes from the front of its lane, the block axis stepping from page to page.
struct PlacedTensor {
  Layout bytes;
  std::int64_t piece = 0;
  std::int64_t first_element = 0;
  const StateTensor* state = nullptr;
};

/// Byte of its pool at which the first page of a group begins.
std::int64_t front_of(const Arrangement& arrangement, const GroupPlan& group) {
  return Checked(arrangement.lanes[group.first_lane.index()].offset) + arrangement.offset_in_piece(group, 0);
}

/// The layers of a group of one allocation in one layout: (layer, block, head, token, channel).
PlacedTensor places_of_layers(const Arrangement& arrangement, const GroupPlan& group) {
  const SpecPlan& spec = arrangement.spec_of(group);
  const std::int64_t element = element_bytes(spec.attention->dtype);
  const Layout bytes = layers_in_allocation(arrangement, group, spec.kernel_entries());
  for (const std::int64_t step : {bytes.stride("layer"), bytes.stride("block"), front_of(arrangement, group)})
    if (step % element != 0)
      throw SpecError("engine.kv_dtype",
                      fmt::format("a page of {} begins {} bytes behind another, no whole number of its {}-byte "
                                  "elements; take pages that are multiples of {} bytes",
                                  spec_label(spec), step, element, element));
  return {slice(split(bytes, "byte", "channel", "byte", element), "byte", 0)};
}

/// The same pages, that of the next id so many bytes behind the one before. Pre: no kernel blocks inside a block.
Layout with_step(const Layout& bytes, std::int64_t step) {
  std::vector<Axis> axes(bytes.axes().begin(), bytes.axes().end());
  for (Axis& axis : axes)
    if (axis.name == AxisName("block")) axis.stride = step;
  return Layout(axes, bytes.offset());
}

/// The layers of a full pack in one layout, an axis "layer" outermost.
PlacedTensor attention_pack(const Arrangement& arrangement, const GroupPlan& group) {
  if (arrangement.cache_order) return places_of_layers(arrangement, group);
  const SpecPlan& spec = arrangement.spec_of(group);
  const AttentionGeometry& attention = *spec.attention;
  const Layout elements = kv_pack_layout({.form = attention.form,
                                          .order = attention.order,
                                          .dtype = attention.dtype,
                                          .num_blocks = arrangement.num_places(group),
                                          .block_size_tokens = spec.block_size_tokens,
                                          .kernel_block_size_tokens = spec.kernel_block_size_tokens,
                                          .kv_heads = attention.kv_heads,
                                          .head_size_k = attention.head_size_k,
                                          .head_size_v = attention.head_size_v,
                                          .pack_size = spec.layers_per_page,
                                          .page_bytes = arrangement.page_bytes(group)});
  const Layout bytes = scale(elements, element_bytes(attention.dtype));
  const LanePlan& lane = arrangement.lanes[group.first_lane.index()];
  return {lane.stride == lane.bytes ? bytes : with_step(bytes, lane.stride)};
}

[[noreturn]] void refuse_element(const StateTensor& tensor, std::int64_t page) {
  const std::int64_t element = element_bytes(tensor.dtype);
  throw SpecError(tensor.name == "conv" ? "engine.conv_dtype" : "engine.ssm_dtype",
                  fmt::format("a page of {} bytes holds no whole number of {}-byte {} elements; take a type of "
                              "fewer bytes, or where attention shares the page a block size that is a multiple of {}",
                              page, element, tensor.name, element));
}

/// A tensor in each page of a lane, that begins so many bytes behind the front of the page.
Layout in_pages(const Layout& elements, DType dtype, std::int64_t offset, std::int64_t num_ids, std::int64_t stride) {
  return repeat(shift(scale(elements, element_bytes(dtype)), offset), {"block", num_ids, stride});
}

/// The elements of one tensor that lie in the piece-th page of a state.
std::optional<PlacedTensor> part_of(const StateTensor& tensor, std::int64_t num_ids, std::int64_t page,
                                    std::int64_t piece) {
  const std::int64_t element = element_bytes(tensor.dtype);
  const std::int64_t begin = std::max(tensor.byte_offset, piece * page);
  const std::int64_t end = std::min(tensor.byte_offset + tensor.bytes(), (piece + 1) * page);
  if (begin >= end) return std::nullopt;
  return PlacedTensor{in_pages(row_major({{"element", (end - begin) / element}}), tensor.dtype, begin - piece * page,
                               num_ids, page),
                      piece, (begin - tensor.byte_offset) / element, &tensor};
}

/// Of a state one per tensor, and where it lies in several pages one per tensor and page.
std::vector<PlacedTensor> state_tensors(const Arrangement& arrangement, const GroupPlan& group) {
  std::vector<PlacedTensor> tensors;
  const std::int64_t page = arrangement.page_bytes(group), num_ids = arrangement.num_places(group);
  const std::int64_t stride = arrangement.place_stride(group);
  for (const StateTensor& tensor : arrangement.tensors_of(group)) {
    if (page % element_bytes(tensor.dtype) != 0) refuse_element(tensor, page);
    if (stride % element_bytes(tensor.dtype) != 0) refuse_element(tensor, stride);
    if (const std::int64_t front = front_of(arrangement, group); front % element_bytes(tensor.dtype) != 0)
      refuse_element(tensor, front);
    if (group.ids_per_entry == 1) {
      tensors.push_back({in_pages(tensor.layout, tensor.dtype, tensor.byte_offset, num_ids, stride), 0, 0, &tensor});
      continue;
    }
    for (std::int64_t piece = 0; piece < group.ids_per_entry; ++piece)
      if (auto part = part_of(tensor, num_ids, page, piece)) tensors.push_back(std::move(*part));
  }
  return tensors;
}

std::vector<PlacedTensor> tensors_of(const Arrangement& arrangement, const GroupPlan& group) {
  if (arrangement.spec_of(group).state) return state_tensors(arrangement, group);
  return {attention_pack(arrangement, group)};
}

/// Calls visit(group, its tensors) for every group; neighbours of one spec share them.
template <class Visit>
void for_each_group(const Arrangement& arrangement, Visit&& visit) {
  std::vector<PlacedTensor> tensors;
  for (std::size_t i = 0; i < arrangement.groups.size(); ++i) {
    const GroupPlan& group = arrangement.groups[i];
    if (group.pages.empty()) continue;
    // Of one allocation the strides depend on how many layers the group has.
    const bool as_before = i > 0 && arrangement.groups[i - 1].spec == group.spec &&
                           arrangement.groups[i - 1].tensor == group.tensor &&
                           (!arrangement.cache_order || arrangement.groups[i - 1].pages.size() == group.pages.size());
    if (!as_before) tensors = tensors_of(arrangement, group);
    visit(group, tensors);
  }
}

}  // namespace

std::vector<ViewPlan> make_views(const Arrangement& arrangement) {
  std::vector<ViewPlan> views;
  for_each_group(arrangement, [&](const GroupPlan& group, const std::vector<PlacedTensor>& tensors) {
    const SpecPlan& spec = arrangement.spec_of(group);
    // In one allocation the layout of the layers begins with the first; else each page has one.
    const bool together = arrangement.cache_order && spec.attention && lie_evenly(arrangement, group);
    for (std::size_t page = 0; page < group.pages.size(); ++page) {
      const std::vector<std::int64_t>& layers = group.pages[page];
      const LaneId lane_id = arrangement.lane_of(group, page);
      const LanePlan& lane = arrangement.lanes[lane_id.index()];
      const std::size_t first = together ? 0 : page, pack = static_cast<std::size_t>(spec.layers_per_page);
      const std::int64_t front = Checked(arrangement.lanes[arrangement.lane_of(group, first).index()].offset) +
                                 arrangement.offset_in_piece(group, first);
      const auto add = [&](std::int64_t layer, const char* tensor, DType dtype, const Layout& bytes) -> ViewPlan& {
        return views.emplace_back(ViewPlan{.spec = spec.id,
                                           .layer = layer,
                                           .tensor = tensor,
                                           .pool = lane.pool.value,
                                           .dtype = dtype,
                                           .bytes = shift(bytes, front),
                                           .lane = lane_id});
      };
      // The last pack may have fewer layers than places.
      if (spec.attention)
        for (std::size_t i = 0; i < layers.size(); ++i)
          add(layers[i], "kv", spec.attention->dtype,
              slice(tensors.front().bytes, "layer", static_cast<std::int64_t>(together ? page * pack + i : i)));
      else
        for (const PlacedTensor& tensor : tensors) {
          ViewPlan& view = add(layers.front(), tensor.state->name.c_str(), tensor.state->dtype, tensor.bytes);
          view.piece = tensor.piece;
          view.first_element = tensor.first_element;
        }
    }
  });
  return views;
}

void check_views(const Arrangement& arrangement) {
  for_each_group(arrangement, [](const GroupPlan&, const std::vector<PlacedTensor>&) {});
}

}  // namespace hybridkv
