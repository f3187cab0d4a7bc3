#include "verify/plant.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "layout/cosize.h"

namespace hybridkv {

namespace {

[[noreturn]] void refuse(Fault fault, const std::string& why) {
  throw InputError(fmt::format("--inject {}: this plan has no place for it: {}", to_string(fault), why));
}

std::vector<Axis> axes_of(const BoundView& view) {
  return {view.view.layout.axes().begin(), view.view.layout.axes().end()};
}

bool is_attention(const CachePlan& plan, const BoundView& view) {
  return plan.specs[view.view.spec].attention.has_value();
}

BoundView& first_attention(Fault fault, const CachePlan& plan, std::vector<BoundView>& views) {
  for (BoundView& view : views)
    if (is_attention(plan, view)) return view;
  refuse(fault, "it has no attention layer");
}

/// Dense strides of the shape with its block axis behind the next axis, as a backend that expects (2, blocks, …) has it.
void plant_stride_order(const CachePlan& plan, std::vector<BoundView>& views) {
  BoundView& view = first_attention(Fault::stride_order, plan, views);
  std::vector<Axis> axes = axes_of(view);
  const int block = view.view.layout.find("block");
  const auto outer = std::find_if(axes.begin(), axes.end(), [](const Axis& axis) {
    return axis.name != AxisName("block") && axis.extent > 1;
  });
  if (outer == axes.end()) refuse(Fault::stride_order, "no axis but the block axis has more than one position");
  Checked inner = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (axis->name == outer->name || axis->name == AxisName("block")) continue;
    axis->stride = inner;
    inner *= axis->extent;
  }
  axes[block].stride = inner;
  outer->stride = inner * axes[block].extent;
  view.view.layout = Layout(axes, view.view.layout.offset());
}

void plant_padded_split(const CachePlan& plan, std::vector<BoundView>& views) {
  BoundView& view = first_attention(Fault::padded_split, plan, views);
  std::vector<Axis> axes = axes_of(view);
  const int block = view.view.layout.find("block");
  const int token = view.view.layout.find("token");
  if (view.kernel_blocks_per_page == 1) {
    if (axes[token].extent % 2 != 0) refuse(Fault::padded_split, "its block does not split into two kernel blocks");
    axes[token].extent /= 2;
    axes[block].extent *= 2;
    view.kernel_blocks_per_page = 2;
  }
  axes[block].stride = plan.page_bytes / view.element_bytes();
  view.view.layout = Layout(axes, view.view.layout.offset());
}

/// Puts the second of two layers of one group where the first one is; packed attention layers before all others.
void plant_pack_index(const CachePlan& plan, std::vector<BoundView>& views) {
  for (const bool attention : {true, false}) {
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (is_attention(plan, views[i]) != attention) continue;
      for (std::size_t j = i + 1; j < views.size(); ++j) {
        if (views[i].group != views[j].group || views[i].view.tensor != views[j].view.tensor) continue;
        views[j].view.pool = views[i].view.pool;
        views[j].view.layout = views[i].view.layout;
        return;
      }
    }
  }
  refuse(Fault::pack_index, "no group has two layers");
}

void plant_narrow_offsets(std::vector<BoundView>& views) {
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  std::int64_t largest = 0;
  for (BoundView& view : views) {
    view.narrow_offsets = true;
    largest = std::max(largest, cosize(view.view.layout));
  }
  if (largest - 1 <= limit)
    refuse(Fault::narrow_offsets, fmt::format("its largest element offset is {}, which fits 32 bits; give more memory, "
                                              "so that a pool has more than {} elements",
                                              largest - 1, limit));
}

void plant_misaligned_state(const CachePlan& plan, std::vector<BoundView>& views) {
  BoundView* chosen = nullptr;
  for (BoundView& view : views)
    if (!is_attention(plan, view) && view.element_bytes() > 1 && (chosen == nullptr || view.view.layout.offset() > 0)) {
      chosen = &view;
      if (view.view.layout.offset() > 0) break;
    }
  if (chosen == nullptr) refuse(Fault::misaligned_state, "it has no state of elements wider than a byte");
  chosen->byte_shift = 1;
}

void plant_padding_reused(const CachePlan& plan, std::vector<BoundView>& views) {
  for (const BoundView& view : views) {
    const SpecPlan& spec = plan.specs[view.view.spec];
    const std::int64_t element = view.element_bytes();
    if (!spec.state) continue;
    const std::int64_t first = ceil_div(spec.state->bytes, element);
    const std::int64_t room = plan.page_bytes / element - first;
    if (room < 1) continue;
    BoundView intruder = view;
    intruder.foreign = true;
    intruder.view.layer = spec.layers.back() == view.view.layer ? spec.layers.front() : spec.layers.back();
    intruder.view.layout = Layout({{"block", plan.num_blocks, plan.page_bytes / element}, {"element", room, 1}}, first);
    views.push_back(intruder);
    return;
  }
  refuse(Fault::padding_reused, "no state page has padding");
}

}  // namespace

void plant_fault(Fault fault, const CachePlan& plan, std::vector<BoundView>& views, BlockAssignment& assignment) {
  switch (fault) {
    case Fault::stride_order: return plant_stride_order(plan, views);
    case Fault::padded_split: return plant_padded_split(plan, views);
    case Fault::pack_index: return plant_pack_index(plan, views);
    case Fault::narrow_offsets: return plant_narrow_offsets(views);
    case Fault::misaligned_state: return plant_misaligned_state(plan, views);
    case Fault::padding_reused: return plant_padding_reused(plan, views);
    case Fault::null_block_used: assignment.ids.front().front().front() = 0; return;
    case Fault::zero_full_page: break;
  }
  const bool reaches_over = std::any_of(views.begin(), views.end(), [&](const BoundView& view) {
    return byte_extent({view.page_layout(0), view.element_bytes(), 0}) != ByteExtent{0, plan.page_bytes};
  });
  if (!reaches_over) refuse(fault, "every tensor fills its page from the first to the last byte");
}

}  // namespace hybridkv
