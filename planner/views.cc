#include "planner/views.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"

namespace hybridkv {

namespace {

/// One tensor of one page, its offset counted from the front of the lane.
struct PlacedTensor {
  Layout layout;
  std::int64_t piece = 0;
  std::int64_t first_element = 0;
  const StateTensor* state = nullptr;
};

/// Of attention one per layer of a full pack.
std::vector<PlacedTensor> attention_tensors(const Arrangement& arrangement, const GroupPlan& group) {
  const SpecPlan& spec = arrangement.spec_of(group);
  const AttentionGeometry& attention = *spec.attention;
  std::vector<PlacedTensor> tensors;
  for (Layout& layout : kv_layouts({.form = attention.form,
                                    .order = attention.order,
                                    .dtype = attention.dtype,
                                    .num_blocks = arrangement.arena_of(group).num_ids,
                                    .block_size_tokens = spec.block_size_tokens,
                                    .kernel_block_size_tokens = spec.kernel_block_size_tokens,
                                    .kv_heads = attention.kv_heads,
                                    .head_size_k = attention.head_size_k,
                                    .head_size_v = attention.head_size_v,
                                    .pack_size = spec.layers_per_page,
                                    .page_bytes = arrangement.page_bytes(group)}))
    tensors.push_back({std::move(layout)});
  return tensors;
}

[[noreturn]] void refuse_element(const StateTensor& tensor, std::int64_t page) {
  const std::int64_t element = element_bytes(tensor.dtype);
  throw SpecError(tensor.name == "conv" ? "engine.conv_dtype" : "engine.ssm_dtype",
                  fmt::format("a page of {} bytes holds no whole number of {}-byte {} elements; take a type of "
                              "fewer bytes, or where attention shares the page a block size that is a multiple of {}",
                              page, element, tensor.name, element));
}

/// The elements of one tensor that lie in the piece-th page of a state.
std::optional<PlacedTensor> part_of(const StateTensor& tensor, std::int64_t num_ids, std::int64_t page, std::int64_t piece) {
  const std::int64_t element = element_bytes(tensor.dtype);
  const std::int64_t begin = std::max(tensor.byte_offset, piece * page);
  const std::int64_t end = std::min(tensor.byte_offset + tensor.layout.num_elements() * element, (piece + 1) * page);
  if (begin >= end) return std::nullopt;
  return PlacedTensor{Layout({{"block", num_ids, page / element}, {"element", (end - begin) / element, 1}},
                             (begin - piece * page) / element),
                      piece, (begin - tensor.byte_offset) / element, &tensor};
}

/// Of a state one per tensor, and where it lies in several pages one per tensor and page.
std::vector<PlacedTensor> state_tensors(const Arrangement& arrangement, const GroupPlan& group) {
  std::vector<PlacedTensor> tensors;
  const std::int64_t page = arrangement.page_bytes(group), num_ids = arrangement.arena_of(group).num_ids;
  for (const StateTensor& tensor : arrangement.spec_of(group).state->tensors) {
    const std::int64_t element = element_bytes(tensor.dtype);
    if (page % element != 0) refuse_element(tensor, page);
    if (group.ids_per_entry == 1) {
      std::vector<Axis> axes{{"block", num_ids, page / element}};
      for (const Axis& axis : tensor.layout.axes()) axes.push_back(axis);
      tensors.push_back({Layout(axes, tensor.byte_offset / element), 0, 0, &tensor});
      continue;
    }
    for (std::int64_t piece = 0; piece < group.ids_per_entry; ++piece)
      if (auto part = part_of(tensor, num_ids, page, piece)) tensors.push_back(std::move(*part));
  }
  return tensors;
}

std::vector<PlacedTensor> tensors_of(const Arrangement& arrangement, const GroupPlan& group) {
  return arrangement.spec_of(group).state ? state_tensors(arrangement, group) : attention_tensors(arrangement, group);
}

/// Calls visit(group, its tensors) for every group; neighbours of one spec share them.
template <class Visit>
void for_each_group(const Arrangement& arrangement, Visit&& visit) {
  std::vector<PlacedTensor> tensors;
  for (std::size_t i = 0; i < arrangement.groups.size(); ++i) {
    const GroupPlan& group = arrangement.groups[i];
    if (i == 0 || arrangement.groups[i - 1].spec != group.spec) tensors = tensors_of(arrangement, group);
    visit(group, tensors);
  }
}

}  // namespace

std::vector<ViewPlan> make_views(const Arrangement& arrangement) {
  std::vector<ViewPlan> views;
  for_each_group(arrangement, [&](const GroupPlan& group, const std::vector<PlacedTensor>& tensors) {
    const SpecPlan& spec = arrangement.spec_of(group);
    for (std::size_t page = 0; page < group.pages.size(); ++page) {
      const std::vector<std::int64_t>& layers = group.pages[page];
      const LaneId lane_id = arrangement.lane_of(group, page);
      const LanePlan& lane = arrangement.lanes[lane_id.index()];
      // The last pack may have fewer layers than places.
      const std::size_t count = spec.state ? tensors.size() : std::min(layers.size(), tensors.size());
      for (std::size_t i = 0; i < count; ++i) {
        const PlacedTensor& tensor = tensors[i];
        const DType dtype = tensor.state ? tensor.state->dtype : spec.attention->dtype;
        const std::int64_t before = lane.offset / element_bytes(dtype);
        views.push_back({.spec = spec.id,
                         .layer = tensor.state ? layers.front() : layers[i],
                         .tensor = tensor.state ? tensor.state->name : "kv",
                         .pool = lane.pool.value,
                         .dtype = dtype,
                         .layout = Layout(tensor.layout.axes(), Checked(tensor.layout.offset()) + before),
                         .lane = lane_id,
                         .piece = tensor.piece,
                         .first_element = tensor.first_element});
      }
    }
  });
  return views;
}

void check_views(const Arrangement& arrangement) {
  for_each_group(arrangement, [](const GroupPlan&, const std::vector<PlacedTensor>&) {});
}

}  // namespace hybridkv
