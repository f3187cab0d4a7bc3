#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ask/release_glance.h"
#include "planner/demand.h"
#include "planner/pack_comparison.h"
#include "planner/plan.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// Plans of the scenario for these pack sizes. A planner's refusal is thrown as InputError with the place of the value
/// that caused it, a number too large for 64 bits with that of the largest value.
PlanSet plan_scenario(const Scenario& scenario, const std::vector<std::int64_t>& pack_sizes,
                      PlanDetail detail = PlanDetail::full);

/// What plans of one model say together.
struct PlanFindings {
  PackComparison packs;
  std::vector<Demand> requests;  ///< (plan) ids of one request of the longest length
  std::optional<ReleaseGlance> successor;  ///< what the release of today would print instead
};

/// Pre: at least one plan, a capacity in each, the same lengths in all.
PlanFindings findings_of(const PlanSet& set);

/// The same with what the engine's successor would print for the scenario of these plans.
PlanFindings findings_of(const PlanSet& set, const Scenario& scenario);

/// Does the planner refuse for want of room alone: memory, or blocks that were said in its place?
bool is_lack_of_room(const SpecError& error);

/// The plan at one length, whether or not a request of it fits: its only capacity says so. For questions whose answer a
/// pool that is too small is. Throws SpecError as make_plan. Pre: the pool has room for a request of one token.
CachePlan plan_fitting_or_not(const ModelSpec& model, const EngineSpec& engine, std::int64_t max_model_len,
                              PlanDetail detail = PlanDetail::numbers);

/// Of several packs the one at that position of the scenario, alone: for answers that hold one plan at a time. Throws
/// as plan_scenario. Pre: 0 <= position < scenario.pack_sizes.size().
CachePlan plan_pack(const Scenario& scenario, std::size_t position, PlanDetail detail = PlanDetail::full);

}  // namespace hybridkv
