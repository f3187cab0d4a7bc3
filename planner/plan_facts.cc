#include "planner/plan_facts.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/error.h"
#include "mamba/recurrent_spec.h"
#include "planner/demand.h"

namespace hybridkv {

const SpecPlan* largest_state(const CachePlan& plan) {
  const SpecPlan* largest = nullptr;
  for (const SpecPlan& spec : plan.specs)
    if (spec.state && (largest == nullptr || spec.state->bytes > largest->state->bytes)) largest = &spec;
  return largest;
}

std::vector<std::optional<std::int64_t>> requests_by_arena(const Arrangement& arrangement, std::int64_t tokens) {
  const Demand demand = request_demand(arrangement, tokens);
  std::vector<std::optional<std::int64_t>> requests;
  for (std::size_t arena = 0; arena < demand.ids.size(); ++arena) {
    requests.emplace_back();
    if (demand.ids[arena] > 0) requests.back() = arrangement.arenas[arena].usable_ids() / demand.ids[arena];
  }
  return requests;
}

bool counts_blocks(const Arrangement& arrangement) {
  return arrangement.cache_order.has_value() || arrangement.is_uniform();
}

std::int64_t state_slot_tensor_bytes(const Arrangement& arrangement, std::string_view name) {
  const Checked slots = Checked(arrangement.tree_pools->split.state_slots) + 1;
  Checked bytes = 0;
  for (const SpecPlan& spec : arrangement.specs) {
    if (!spec.state) continue;
    for (const StateTensor& tensor : spec.state->tensors)
      if (tensor.name == name) bytes += slots * tensor.bytes() * std::ssize(spec.layers);
  }
  return bytes;
}

double printed_gigabytes(std::int64_t bytes) { return std::round(static_cast<double>(bytes) / 0x1p30 * 100) / 100; }

bool has_source_only_rings(const Arrangement& arrangement) {
  return arrangement.tree_pools && arrangement.tree_pools->split.ring_bytes > 0 &&
         std::any_of(arrangement.specs.begin(), arrangement.specs.end(),
                     [](const SpecPlan& spec) { return spec.kind == family_name(KdaSpec{}); });
}

const CapacityPlan& capacity_of(const CachePlan& plan, std::int64_t tokens) {
  const auto found = std::find_if(plan.capacity.begin(), plan.capacity.end(),
                                  [&](const CapacityPlan& capacity) { return capacity.max_model_len == tokens; });
  expects(found != plan.capacity.end(), "every plan has a capacity at the compared length");
  return *found;
}

std::int64_t longest_length(const PlanSet& set) {
  expects(!set.plans.empty() && !set.plans.front().capacity.empty(), "a plan with a capacity");
  std::int64_t longest = 0;
  for (const CapacityPlan& capacity : set.plans.front().capacity) longest = std::max(longest, capacity.max_model_len);
  return longest;
}

double over_ideal_percent(const CapacityPlan& capacity) {
  if (capacity.ideal_bytes_per_request == 0) return 0;
  const auto ideal = static_cast<double>(capacity.ideal_bytes_per_request);
  return 100.0 * (static_cast<double>(capacity.bytes_per_request) - ideal) / ideal;
}

}  // namespace hybridkv
