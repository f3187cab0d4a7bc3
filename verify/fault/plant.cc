#include "verify/fault/plant.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "layout/cosize.h"
#include "planner/views.h"
#include "verify/layout/cache_codec.h"
#include "verify/transfer/stray_copy.h"

namespace hybridkv {

namespace {

[[noreturn]] void refuse(Fault fault, const std::string& why) { throw NoPlaceError(fault, why); }

std::vector<Axis> axes_of(const BoundView& view) { return {view.address.axes().begin(), view.address.axes().end()}; }

bool is_attention(const CachePlan& plan, const BoundView& view) {
  return plan.specs[view.view.spec].attention.has_value();
}

BoundView& first_attention(Fault fault, const CachePlan& plan, std::vector<BoundView>& views) {
  for (BoundView& view : views)
    if (is_attention(plan, view)) return view;
  refuse(fault, "it has no attention layer");
}

/// Dense strides of the shape of a view with its block axis behind that other one.
Layout with_blocks_behind(const BoundView& view, AxisName outermost) {
  std::vector<Axis> axes = axes_of(view);
  Checked inner = view.element_bytes();
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (axis->name == outermost || axis->name == AxisName("block")) continue;
    axis->stride = inner;
    inner *= axis->extent;
  }
  Axis& block = axes[static_cast<std::size_t>(view.address.find("block"))];
  block.stride = inner;
  axes[static_cast<std::size_t>(view.address.find(outermost))].stride = inner * block.extent;
  return Layout(axes, view.address.offset());
}

/// Of the first axis that makes it another view: as a backend has that expects (2, blocks, …).
void plant_stride_order(const CachePlan& plan, std::vector<BoundView>& views) {
  BoundView& view = first_attention(Fault::stride_order, plan, views);
  for (const Axis& axis : view.address.axes()) {
    if (axis.name == AxisName("block") || axis.extent == 1) continue;
    const Layout wrong = with_blocks_behind(view, axis.name);
    if (wrong == view.address) continue;
    view.address = wrong;
    return;
  }
  refuse(Fault::stride_order, "no axis but the block axis has more than one position");
}

void plant_padded_split(const CachePlan& plan, std::vector<BoundView>& views) {
  BoundView& view = first_attention(Fault::padded_split, plan, views);
  std::vector<Axis> axes = axes_of(view);
  const int block = view.address.find("block");
  const int token = view.address.find("token");
  if (view.kernel_blocks_per_page == 1) {
    if (axes[token].extent % 2 != 0) refuse(Fault::padded_split, "its block does not split into two kernel blocks");
    axes[token].extent /= 2;
    axes[block].extent *= 2;
    view.kernel_blocks_per_page = 2;
  }
  axes[block].stride = plan.place_stride(group_of(plan, view));
  view.address = Layout(axes, view.address.offset());
}

/// Puts the second of two layers of one group where the first one is; packed attention layers before all others.
void plant_pack_index(const CachePlan& plan, std::vector<BoundView>& views) {
  for (const bool attention : {true, false}) {
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (is_attention(plan, views[i]) != attention) continue;
      for (std::size_t j = i + 1; j < views.size(); ++j) {
        if (views[i].group != views[j].group || views[i].view.tensor != views[j].view.tensor ||
            views[i].view.piece != views[j].view.piece || views[i].view.layer == views[j].view.layer)
          continue;
        views[j].view.pool = views[i].view.pool;
        views[j].view.lane = views[i].view.lane;
        views[j].page = views[i].page;
        views[j].address = views[i].address;
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
    largest = std::max(largest, cosize(view.bytes()) / view.element_bytes());
  }
  if (largest - 1 <= limit)
    refuse(Fault::narrow_offsets, fmt::format("its largest element offset is {}, which fits 32 bits; give more memory, "
                                              "so that a pool has more than {} elements",
                                              largest - 1, limit));
}

/// The second tensor of a state where there is one, else the first.
BoundView& last_state(Fault fault, const CachePlan& plan, std::vector<BoundView>& views) {
  BoundView* chosen = nullptr;
  for (BoundView& view : views) {
    if (is_attention(plan, view) || view.element_bytes() == 1) continue;
    if (view.address.offset() > 0) return view;
    if (chosen == nullptr) chosen = &view;
  }
  if (chosen == nullptr) refuse(fault, "it has no state of elements wider than a byte");
  return *chosen;
}

void plant_misaligned_state(const CachePlan& plan, std::vector<BoundView>& views) {
  BoundView& view = last_state(Fault::misaligned_state, plan, views);
  view.address = Layout(axes_of(view), view.address.offset() + 1);
}

void plant_odd_stride(const CachePlan& plan, std::vector<BoundView>& views) {
  BoundView& view = last_state(Fault::odd_stride, plan, views);
  std::vector<Axis> axes = axes_of(view);
  const auto rows = std::find_if(axes.begin(), axes.end(), [](const Axis& axis) {
    return axis.name != AxisName("block") && axis.extent > 1;
  });
  if (rows == axes.end()) refuse(Fault::odd_stride, "its states have a single element");
  ++rows->stride;
  view.address = Layout(axes, view.address.offset());
}

void plant_padding_reused(const CachePlan& plan, std::vector<BoundView>& views) {
  for (const BoundView& view : views) {
    const SpecPlan& spec = plan.specs[view.view.spec];
    const std::int64_t element = view.element_bytes();
    if (!spec.state) continue;
    const PageRegion page = page_region(plan, view, view.view.lane);
    const std::int64_t last_piece = plan.groups[view.group].ids_per_entry - 1;
    if (view.view.piece != last_piece) continue;
    const std::int64_t first = ceil_div(spec.state->bytes - last_piece * page.bytes, element);
    const std::int64_t room = page.bytes / element - first;
    if (room < 1) continue;
    BoundView intruder = view;
    intruder.foreign = true;
    intruder.view.layer = spec.layers.back() == view.view.layer ? spec.layers.front() : spec.layers.back();
    intruder.address =
        Layout({{"block", plan.num_places(group_of(plan, view)), page.stride}, {"element", room, element}},
               page.offset + first * element);
    views.push_back(intruder);
    return;
  }
  refuse(Fault::padding_reused, "no state page has padding");
}

bool has_kv(const CachePlan& plan, const BoundView& view) {
  return is_attention(plan, view) && !is_latent(plan.specs[view.view.spec].attention->kind);
}

std::int64_t position_in_pack(const CachePlan& plan, const BoundView& view) {
  const auto& pack = plan.groups[view.group].pages[static_cast<std::size_t>(view.page)];
  return std::find(pack.begin(), pack.end(), view.view.layer) - pack.begin();
}

/// Dense inside a kernel block, with tokens and heads in each other's place from the outermost axis to the innermost.
Layout with_tokens_and_heads_exchanged(const CachePlan& plan, const BoundView& view) {
  std::vector<Axis> axes = axes_of(view);
  std::vector<AxisName> physical;
  for (const Axis& axis : axes)
    if (axis.name != AxisName("block")) physical.push_back(axis.name);
  std::stable_sort(physical.begin(), physical.end(), [&](AxisName a, AxisName b) {
    return view.address.stride(a) > view.address.stride(b);
  });
  std::iter_swap(std::find(physical.begin(), physical.end(), AxisName("token")),
                 std::find(physical.begin(), physical.end(), AxisName("head")));
  Checked inner = view.element_bytes();
  for (std::size_t i = physical.size(); i-- > 0;)
    for (Axis& axis : axes)
      if (axis.name == physical[i]) {
        axis.stride = inner;
        inner *= axis.extent;
      }
  // Where the layers of a pack lie inside each head, they part into one region for each layer.
  const std::int64_t region = view.address.stride("block") / plan.specs[view.view.spec].layers_per_page;
  return Layout(axes, Checked(page_region(plan, view, view.view.lane).offset) + position_in_pack(plan, view) * region);
}

/// What a backend takes for an order of one allocation: tokens and heads in each other's place, or the heads of a layer
/// together.
CacheOrder mistaken(CacheOrder order) {
  switch (order) {
    case CacheOrder::lbhnc: return CacheOrder::lbnhc;
    case CacheOrder::blhnc: return CacheOrder::blnhc;
    case CacheOrder::blnhc:
    case CacheOrder::bhlnc: return CacheOrder::blhnc;
    default: return CacheOrder::lbhnc;
  }
}

/// Has every position the same address in both? What an axis of one position steps by moves nothing.
bool same_addresses(const Layout& one, const Layout& other) {
  return one.offset() == other.offset() && one.rank() == other.rank() &&
         std::all_of(one.axes().begin(), one.axes().end(), [&](const Axis& axis) {
           const int at = other.find(axis.name);
           if (at < 0) return false;
           const Axis& same = other.axes()[static_cast<std::size_t>(at)];
           return same.extent == axis.extent && (axis.extent == 1 || same.stride == axis.stride);
         });
}

/// All layers of the first spec that lie elsewhere in the order that theirs is mistaken for.
void plant_order_exchanged_in_allocation(const CachePlan& plan, std::vector<BoundView>& views) {
  Arrangement other = plan;
  other.cache_order = mistaken(*plan.cache_order);
  const std::vector<ViewPlan> others = make_views(other);
  std::optional<std::int64_t> spec;
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (!has_kv(plan, views[i]) || same_addresses(others[i].bytes, views[i].address)) continue;
    if (!spec) spec = views[i].view.spec;
    if (views[i].view.spec == *spec) views[i].address = others[i].bytes;
  }
  if (!spec) refuse(Fault::order_exchanged, "no attention layer lies elsewhere in another order");
}

/// All layers of the first spec whose pages have more than one order.
void plant_order_exchanged(const CachePlan& plan, std::vector<BoundView>& views) {
  if (plan.cache_order) return plant_order_exchanged_in_allocation(plan, views);
  std::optional<std::int64_t> spec;
  for (BoundView& view : views) {
    if (!has_kv(plan, view) || view.address.extent("token") == 1 || view.address.extent("head") == 1) continue;
    if (!spec) spec = view.view.spec;
    if (view.view.spec == *spec) view.address = with_tokens_and_heads_exchanged(plan, view);
  }
  if (!spec)
    refuse(Fault::order_exchanged, "no attention layer has several heads and several tokens in a kernel block");
}

void plant_pack_reversed(const CachePlan& plan, std::vector<BoundView>& views) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<BoundView*>> packs;
  for (BoundView& view : views)
    if (is_attention(plan, view)) packs[{view.group, plan.cache_order ? 0 : view.view.lane.value}].push_back(&view);
  bool planted = false;
  for (auto& [page, pack] : packs) {
    planted = planted || pack.size() > 1;
    for (std::size_t i = 0; i < pack.size() / 2; ++i) {
      std::swap(pack[i]->address, pack[pack.size() - 1 - i]->address);
      std::swap(pack[i]->view.lane, pack[pack.size() - 1 - i]->view.lane);
      std::swap(pack[i]->page, pack[pack.size() - 1 - i]->page);
    }
  }
  if (!planted && plan.cache_order) refuse(Fault::pack_reversed, "no group has two attention layers");
  if (!planted) refuse(Fault::pack_reversed, "no page holds two attention layers; try a larger --pack");
}

void plant_kv_exchanged(const CachePlan& plan, std::vector<BoundView>& views) {
  std::optional<std::int64_t> spec;
  for (BoundView& view : views) {
    if (!has_kv(plan, view)) continue;
    if (!spec) spec = view.view.spec;
    view.kv_exchanged = view.view.spec == *spec;
  }
  if (!spec) refuse(Fault::kv_exchanged, "no attention layer keeps K and V apart");
}

/// All layers of the first spec with two tensors of a state: the second one at the front, the first one behind it.
void plant_states_exchanged(const CachePlan& plan, std::vector<BoundView>& views) {
  std::optional<std::int64_t> spec;
  std::int64_t behind = 0;
  for (BoundView& view : views) {
    const auto& state = plan.specs[view.view.spec].state;
    if (!state || state->tensors.size() < 2 || (spec && *spec != view.view.spec)) continue;
    const StateTensor& first = state->tensors.front();
    if (!spec) {
      behind = round_up(state->tensors.back().bytes(), element_bytes(first.dtype));
      if (Checked(behind) + first.bytes() > page_region(plan, view, view.view.lane).bytes) continue;
      spec = view.view.spec;
    }
    const std::int64_t front = page_region(plan, view, view.view.lane).offset;
    view.address = Layout(axes_of(view), front + (view.view.tensor == first.name ? behind : 0));
  }
  if (!spec) refuse(Fault::states_exchanged, "no state has two tensors that fit its page in either order");
}

void require_wide_page(Fault fault, const CachePlan& plan, std::span<const BoundView> views) {
  const bool reaches_over = std::any_of(views.begin(), views.end(), [&](const BoundView& view) {
    const LanePlan& lane = plan.lanes[view.view.lane.index()];
    const std::int64_t page = plan.place_bytes(group_of(plan, view));
    return byte_extent({view.page_bytes(0), 1, 0}) != ByteExtent{lane.begin(0), lane.begin(0) + page};
  });
  if (!reaches_over) refuse(fault, "every tensor fills its page from the first to the last byte");
  const bool single = std::any_of(plan.arenas.begin(), plan.arenas.end(),
                                  [](const ArenaPlan& arena) { return arena.num_ids < 2; });
  if (fault == Fault::copy_full_page && single) refuse(fault, "the pools have a single block");
}

void require_kind(Fault fault, const CachePlan& plan, bool attention, const char* missing) {
  const bool present = std::any_of(plan.specs.begin(), plan.specs.end(), [&](const SpecPlan& spec) {
    return spec.attention.has_value() == attention;
  });
  if (!present) refuse(fault, missing);
}

void require_scales(const CachePlan& plan) {
  const bool present = std::any_of(plan.specs.begin(), plan.specs.end(), [](const SpecPlan& spec) {
    return spec.attention && has_values(*spec.attention) && cache_codec(*spec.attention, 1).has_scales();
  });
  if (!present)
    refuse(Fault::scale_exchanged, "no attention layer keeps values with scales; try engine.kv_dtype: fp8_e4m3");
}

/// All states of a slot step as if the slot had a layer less.
void plant_slot_stride(const CachePlan& plan, std::vector<BoundView>& views) {
  bool planted = false;
  for (BoundView& view : views) {
    const GroupPlan& group = group_of(plan, view);
    if (is_attention(plan, view) || plan.cache_order || !group.in_lane || group.entries_per_id > 1) continue;
    if (group.pages.size() < 2) continue;
    std::vector<Axis> axes = axes_of(view);
    axes[static_cast<std::size_t>(view.address.find("block"))].stride -= group.in_lane->bytes;
    view.address = Layout(axes, view.address.offset());
    planted = true;
  }
  if (!planted) refuse(Fault::slot_stride, "no slot has the states of several layers side by side");
}

/// The first group of which several small pages share a large one: each place taken for the next.
void plant_small_page_shifted(const CachePlan& plan, std::vector<BoundView>& views) {
  std::optional<std::int64_t> group;
  for (BoundView& view : views) {
    if (group_of(plan, view).entries_per_id == 1) continue;
    if (!group) group = view.group;
    if (view.group == *group)
      view.address = Layout(axes_of(view), view.address.offset() + plan.place_stride(group_of(plan, view)));
  }
  if (!group) refuse(Fault::small_page_shifted, "no id is split among several table entries");
}

/// The last entry of the first request in a place of an id that another group holds.
void plant_foreign_large_page(const CachePlan& plan, BlockAssignment& assignment) {
  for (std::size_t group = 0; group < plan.groups.size(); ++group)
    for (std::size_t other = 0; other < plan.groups.size(); ++other) {
      const GroupPlan& own = plan.groups[group];
      if (own.entries_per_id == plan.groups[other].entries_per_id || own.arena != plan.groups[other].arena) continue;
      if (assignment.ids.empty()) return;  // of a network, whose tables the simulator makes
      const std::int64_t id = assignment.ids_held_by(plan, other).back();
      assignment.ids[group].front().back() = id * own.entries_per_id + own.entries_per_id - 1;
      return;
    }
  refuse(Fault::foreign_large_page, "no id can be split among table entries of two kinds");
}

/// The tables of the first group that keeps K and V of an encoder.
std::vector<std::vector<std::int64_t>>& encoder_tables(Fault fault, const CachePlan& plan,
                                                       BlockAssignment& assignment) {
  for (std::size_t group = 0; group < assignment.ids.size(); ++group)
    if (plan.spec_of(plan.groups[group]).is_cross()) return assignment.ids[group];
  refuse(fault, "no layer attends to an encoder");
}

void plant_shared_encoder(const CachePlan& plan, BlockAssignment& assignment) {
  auto& tables = encoder_tables(Fault::shared_encoder, plan, assignment);
  if (tables.size() < 2) refuse(Fault::shared_encoder, "a single request is verified");
  tables[1].front() = tables[0].front();
}

}  // namespace

NoPlaceError::NoPlaceError(Fault fault, std::string why)
    : InputError(fmt::format("--inject {}: this plan has no place for it: {}", to_string(fault), why)),
      why_(std::move(why)) {}

void plant_fault(Fault fault, const CachePlan& plan, std::vector<BoundView>& views, BlockAssignment& assignment) {
  switch (fault) {
    case Fault::stride_order: return plant_stride_order(plan, views);
    case Fault::padded_split: return plant_padded_split(plan, views);
    case Fault::pack_index: return plant_pack_index(plan, views);
    case Fault::narrow_offsets: return plant_narrow_offsets(views);
    case Fault::misaligned_state: return plant_misaligned_state(plan, views);
    case Fault::padding_reused: return plant_padding_reused(plan, views);
    case Fault::null_block_used:
      if (!plan.arenas.front().has_null_id) refuse(fault, "block 0 is a block like all others");
      assignment.ids.front().front().front() = 0;
      return;
    case Fault::odd_stride: return plant_odd_stride(plan, views);
    case Fault::order_exchanged: return plant_order_exchanged(plan, views);
    case Fault::pack_reversed: return plant_pack_reversed(plan, views);
    case Fault::kv_exchanged: return plant_kv_exchanged(plan, views);
    case Fault::states_exchanged: return plant_states_exchanged(plan, views);
    case Fault::slot_stride: return plant_slot_stride(plan, views);
    case Fault::small_page_shifted: return plant_small_page_shifted(plan, views);
    case Fault::foreign_large_page: return plant_foreign_large_page(plan, assignment);
    case Fault::shared_encoder: return plant_shared_encoder(plan, assignment);
    case Fault::encoder_cut: return encoder_tables(fault, plan, assignment).front().pop_back();
    case Fault::lost_state: return require_kind(fault, plan, false, "it has no state");
    case Fault::lost_kv:
    case Fault::stale_block:
    case Fault::stale_slot:
    case Fault::lost_merge:
    case Fault::stale_cascade:
    case Fault::stale_paged: return require_kind(fault, plan, true, "it has no attention layer");
    case Fault::scale_exchanged: return require_scales(plan);
    case Fault::kv_over_state:
    case Fault::state_over_kv:
    case Fault::freed_block:
      if (!find_stray_copy(fault, plan, views, assignment)) refuse(fault, "no pool is shared by attention and states");
      return;
    case Fault::zero_full_page:
    case Fault::copy_full_page: return require_wide_page(fault, plan, views);
  }
}

}  // namespace hybridkv
