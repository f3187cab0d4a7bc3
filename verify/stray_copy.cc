#include "verify/stray_copy.h"

#include "verify/block_ops.h"

namespace hybridkv {

namespace {

bool is_state(const CachePlan& plan, const BoundView& view) { return plan.specs[view.view.spec].state.has_value(); }

/// From a block of a layer at the front of its page to a block of the other kind in the same pool, so that bytes meet.
std::optional<StrayCopy> copy_onto_other_kind(const CachePlan& plan, std::span<const BoundView> views,
                                              const BlockAssignment& assignment, bool from_state) {
  for (const BoundView& source : views) {
    if (is_state(plan, source) != from_state || source.address.offset() != 0) continue;
    for (const BoundView& target : views) {
      if (is_state(plan, target) == from_state || target.address.offset() != 0) continue;
      if (target.view.lane != source.view.lane) continue;
      const auto from = assignment.held_by(source.group, source.view.piece);
      const auto to = assignment.held_by(target.group, target.view.piece);
      if (!from.empty() && !to.empty()) return StrayCopy{&source, from.front(), to.front()};
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
      return StrayCopy{&view, held.front(), guards.empty() ? 0 : guards.front()};
  }
  return std::nullopt;
}

void plant_stray_copy(const Traffic& traffic, Fault fault) {
  if (traffic.fault != fault) return;
  const auto copy = find_stray_copy(fault, traffic.plan, traffic.views, traffic.assignment);
  if (copy) copy_block(traffic.pools, *copy->view, copy->from, copy->to);
}

}  // namespace hybridkv
