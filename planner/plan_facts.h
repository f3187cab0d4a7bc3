#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// Facts that follow from a finished plan. Those about its primary attention are in planner/primary_attention.h.

/// The largest recurrent state, which decides the page; null where the model has none.
const SpecPlan* largest_state(const CachePlan& plan);

/// Are all ids blocks, of pages of one size in every pool or of one allocation? Else arenas have ids of their own.
bool counts_blocks(const Arrangement& arrangement);

/// Bytes of the tensors of this name ("conv", "ssm") in all slots, the dummy among them. Pre: tree pools.
std::int64_t state_slot_tensor_bytes(const Arrangement& arrangement, std::string_view name);

/// GB as SGLang prints them: of 1,024^3 bytes, to two digits.
double printed_gigabytes(std::int64_t bytes);

/// Are there rows of ReplaySSM whose rule was read in the engine's source, not run: those of kda layers?
bool has_source_only_rings(const Arrangement& arrangement);

/// What fits at one of the lengths that the plan was asked about. Pre: `tokens` is one of them.
const CapacityPlan& capacity_of(const CachePlan& plan, std::int64_t tokens);

/// How many requests of a length the usable ids of each arena hold; nothing for arenas of which they take none.
std::vector<std::optional<std::int64_t>> requests_by_arena(const Arrangement& arrangement, std::int64_t tokens);

/// Longest of the lengths that the plans were asked about. Pre: at least one plan, a capacity in each.
std::int64_t longest_length(const PlanSet& set);

/// How many percent of the ideal bytes paging adds to one request; 0 where the ideal is 0.
double over_ideal_percent(const CapacityPlan& capacity);

}  // namespace hybridkv
