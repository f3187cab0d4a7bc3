#include "ask/plan_figures.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "base/error.h"
#include "mamba/recurrent_spec.h"
#include "planner/evidence.h"
#include "planner/layer_specs.h"
#include "planner/plan_facts.h"
#include "planner/primary_attention.h"

namespace hybridkv {

namespace {

using At = PlanAtLength;

template <auto Member>
FigureValue figure_of_plan(const At& at) {
  return std::invoke(Member, at.plan);
}
template <auto Member>
FigureValue figure_of_capacity(const At& at) {
  return at.capacity.*Member;
}
template <auto Member>
FigureValue figure_of_ids(const At& at) {
  return at.capacity.ids_by_cause.*Member;
}
template <auto Member>
FigureValue figure_of_load(const At& at) {
  return std::invoke(Member, at.plan.waste.at_load);
}
/// Of the group whose pages people compare: attention's, where there is any.
template <auto Member>
FigureValue figure_of_arena(const At& at) {
  return std::invoke(Member, at.plan.arena_of(primary_group(at.plan)));
}
template <auto Member>
FigureValue figure_of_primary(const At& at) {
  return primary_spec(at.plan).*Member;
}
/// Of the packed attention layers; nothing without any.
template <auto Member>
FigureValue figure_of_attention(const At& at) {
  const SpecPlan* const spec = primary_attention(at.plan);
  return spec == nullptr ? FigureValue() : FigureValue(spec->*Member);
}

FigureValue profile_of(const At& at) {
  const auto& profile = at.plan.backend_profile;
  return profile ? FigureValue(std::string(to_string(*profile))) : FigureValue();
}

/// Of the layers whose padding decides.
FigureValue padding_of(const At& at) {
  const SpecPlan* const state = largest_state(at.plan);
  return (state != nullptr ? *state : primary_spec(at.plan)).padding_percent;
}

FigureValue shortest_prefix_of(const At& at) {
  const auto& shortest = at.plan.prefix.min_cacheable_prefix_tokens;
  return shortest ? FigureValue(*shortest) : FigureValue();
}

constexpr PlanFigure plan_figures[] = {
    {"release", "", [](const At& at) { return FigureValue(std::string(at.plan.rules->name)); }},
    {"evidence", "", [](const At& at) { return FigureValue(std::string(to_string(evidence_of(at.plan)))); }},
    {"backend_profile", "", profile_of},
    {"strategy", "", [](const At& at) { return FigureValue(std::string(to_string(at.plan.strategy))); }},
    {"cache_mode", "", [](const At& at) { return FigureValue(std::string(to_string(at.plan.cache_mode))); }},
    {"attention_pack_size", "", figure_of_plan<&CachePlan::attention_pack_size>},
    {"speculative_tokens", "tokens", figure_of_plan<&CachePlan::speculative_tokens>},
    {"memory_bytes", "bytes", figure_of_plan<&CachePlan::memory_bytes>},
    {"block_size_tokens", "tokens", figure_of_primary<&SpecPlan::block_size_tokens>},
    {"kernel_block_size_tokens", "tokens", figure_of_primary<&SpecPlan::kernel_block_size_tokens>},
    {"page_bytes", "bytes", [](const At& at) { return FigureValue(at.plan.page_bytes(primary_group(at.plan))); }},
    {"padding_percent", "%", padding_of},
    {"packs", "", figure_of_attention<&SpecPlan::num_pages>},
    {"pools", "", [](const At& at) { return FigureValue(std::int64_t{std::ssize(at.plan.pools)}); }},
    {"bytes_per_block", "bytes", figure_of_arena<&ArenaPlan::bytes_per_id>},
    {"num_blocks", "", figure_of_arena<&ArenaPlan::num_ids>},
    {"usable_blocks", "", figure_of_arena<&ArenaPlan::usable_ids>},
    {"max_model_len", "tokens", figure_of_capacity<&CapacityPlan::max_model_len>},
    {"blocks_per_request", "ids", figure_of_capacity<&CapacityPlan::blocks_per_request>},
    {"ids_for_tokens", "ids", figure_of_ids<&IdsByCause::tokens>},
    {"ids_for_states", "ids", figure_of_ids<&IdsByCause::states>},
    {"ids_for_drafts", "ids", figure_of_ids<&IdsByCause::speculative>},
    {"ids_for_checkpoints", "ids", figure_of_ids<&IdsByCause::checkpoints>},
    {"ids_in_flight", "ids", figure_of_ids<&IdsByCause::in_flight_window>},
    {"ids_for_extras", "ids", figure_of_ids<&IdsByCause::other>},
    {"ids_for_encoder", "ids", figure_of_ids<&IdsByCause::encoder>},
    {"bytes_per_request", "bytes", figure_of_capacity<&CapacityPlan::bytes_per_request>},
    {"ideal_bytes_per_request", "bytes", figure_of_capacity<&CapacityPlan::ideal_bytes_per_request>},
    {"over_ideal_percent", "%", [](const At& at) { return FigureValue(over_ideal_percent(at.capacity)); }},
    {"fits", "", figure_of_capacity<&CapacityPlan::fits>},
    {"max_concurrency", "", figure_of_capacity<&CapacityPlan::max_concurrency>},
    {"usable_concurrency", "", figure_of_capacity<&CapacityPlan::usable_concurrency>},
    {"kv_cache_tokens", "tokens", figure_of_capacity<&CapacityPlan::kv_cache_tokens>},
    {"kv_cache_tokens_by_concurrency", "tokens", figure_of_capacity<&CapacityPlan::kv_cache_tokens_by_concurrency>},
    {"kv_cache_tokens_by_floor", "tokens", figure_of_capacity<&CapacityPlan::kv_cache_tokens_by_floor>},
    {"max_fitting_tokens", "tokens", figure_of_plan<&CachePlan::max_fitting_tokens>},
    {"max_running_requests", "", figure_of_plan<&CachePlan::max_running_requests>},
    {"max_running_requests_by_states", "", figure_of_plan<&CachePlan::max_running_requests_by_states>},
    {"one_token_request_bytes", "bytes", figure_of_plan<&CachePlan::one_token_request_bytes>},
    {"match_unit_tokens", "tokens", [](const At& at) { return FigureValue(at.plan.prefix.match_unit_tokens); }},
    {"min_cacheable_prefix_tokens", "tokens", shortest_prefix_of},
    {"used_bytes_at_load", "bytes", figure_of_load<&LoadWaste::used_bytes>},
    {"wasted_bytes_at_load", "bytes", figure_of_load<&LoadWaste::wasted_bytes>},
    {"free_bytes_at_load", "bytes", figure_of_load<&LoadWaste::free_bytes>},
    {"state_padding_bytes_at_load", "bytes", figure_of_load<&LoadWaste::state_padding_bytes>},
    {"attention_padding_bytes_at_load", "bytes", figure_of_load<&LoadWaste::attention_padding_bytes>},
    {"tail_bytes_at_load", "bytes", figure_of_load<&LoadWaste::block_tail_bytes>},
    {"empty_slot_bytes_at_load", "bytes", figure_of_load<&LoadWaste::empty_position_bytes>},
    {"short_pack_bytes_at_load", "bytes", figure_of_load<&LoadWaste::short_pack_bytes>},
    {"null_block_bytes", "bytes", figure_of_load<&LoadWaste::null_block_bytes>},
    {"unallocated_bytes", "bytes", [](const At& at) { return FigureValue(at.plan.waste.unallocated_bytes); }},
};

}  // namespace

const PlanFigure& plan_figure(std::string_view name) {
  const auto found = std::find_if(std::begin(plan_figures), std::end(plan_figures),
                                  [&](const PlanFigure& figure) { return figure.name == name; });
  expects(found != std::end(plan_figures), "a plan has this figure");
  return *found;
}

std::vector<std::string> layer_kinds() {
  std::vector<std::string> kinds = names_of(attention_kind_names);
  for_each_family([&](const RecurrentSpec& family) { kinds.emplace_back(family_name(family)); });
  kinds.push_back(LayerSet{.ring = RingSpec{}}.kind());
  return kinds;
}

}  // namespace hybridkv
