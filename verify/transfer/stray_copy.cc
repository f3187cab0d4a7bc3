#include "verify/transfer/stray_copy.h"

#include "layout/for_each_run.h"
#include "verify/layout/block_ops.h"

namespace hybridkv {

namespace {

bool is_state(const CachePlan& plan, const BoundView& view) { return plan.specs[view.view.spec].state.has_value(); }

/// Does one of the runs of bytes of a layout meet one of another's?
bool meet(const Layout& a, const Layout& b) {
  const ByteExtent reach = byte_extent({b, 1, 0});
  bool met = false;
  for_each_run(a, [&](std::int64_t begin, std::int64_t bytes) {
    if (met || begin >= reach.end || begin + bytes <= reach.begin) return;
    for_each_run(b, [&](std::int64_t other, std::int64_t other_bytes) {
      met = met || (begin < other + other_bytes && other < begin + bytes);
    });
  });
  return met;
}

/// From a block of a layer at the front of its page to a block of the other kind in the same pool, so that bytes meet.
std::optional<StrayCopy> copy_onto_other_kind(const CachePlan& plan, std::span<const BoundView> views,
                                              const BlockAssignment& assignment, bool from_state) {
  for (const BoundView& source : views) {
    if (is_state(plan, source) != from_state || source.address.offset() != 0) continue;
    for (const BoundView& target : views) {
      if (is_state(plan, target) == from_state || target.view.lane != source.view.lane) continue;
      const std::int64_t own = plan.place_stride(group_of(plan, source));
      const std::int64_t other = plan.place_stride(group_of(plan, target));
      if (target.address.offset() != 0 && own == other) continue;
      const auto from = assignment.held_by(source.group, source.view.piece);
      const auto to = assignment.held_by(target.group, target.view.piece);
      if (from.empty() || to.empty()) continue;
      if (own == other) return StrayCopy{&source, from.front(), to.front()};
      // Places of two sizes: the first of the source's that reaches into what the target holds.
      for (const std::int64_t held : to)
        for (const std::int64_t place : {held * other / own, held * other / own + 1})
          if (place < plan.num_places(group_of(plan, source)) && place != from.front() &&
              meet(source.page_bytes(place), target.page_bytes(held)))
            return StrayCopy{&source, from.front(), place};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<StrayCopy> find_stray_copy(Fault fault, const CachePlan& plan, std::span<const BoundView> views,
                                         const BlockAssignment& assignment) {
  if (fault == Fault::kv_over_state || fault == Fault::state_over_kv)
    return copy_onto_other_kind(plan, views, assignment, fault == Fault::state_over_kv);
  if (fault != Fault::freed_block) return std::nullopt;
  for (const BoundView& view : views) {
    const std::vector<std::int64_t>& guards = assignment.guards[plan.groups[view.group].arena.index()];
    if (const auto held = assignment.held_by(view.group, view.view.piece); !held.empty())
      return StrayCopy{&view, held.front(),
                       guards.empty() ? 0 : guards.front() * group_of(plan, view).entries_per_id};
  }
  return std::nullopt;
}

void plant_stray_copy(const Traffic& traffic, Fault fault) {
  if (traffic.fault != fault) return;
  const auto copy = find_stray_copy(fault, traffic.plan, traffic.views, traffic.assignment);
  if (copy) copy_block(traffic.pools, *copy->view, copy->from, copy->to);
}

}  // namespace hybridkv
