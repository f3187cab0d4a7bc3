#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ask/release_glance.h"
#include "engines/serve.h"
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
struct PlanAnswer {
  PackComparison packs;
  std::vector<Demand> requests;  ///< (plan) ids of one request of the longest length
  std::optional<ReleaseGlance> successor;  ///< what the release of today would print instead
  ServeCommand serve;  ///< that starts one plan of a release of today; empty: there are several, or it is none of today
};

/// Pre: at least one plan, a capacity in each, the same lengths in all.
PlanAnswer plan_answer(const PlanSet& set);

/// The same with what the engine's successor would print for the scenario of these plans, and how one is started.
PlanAnswer plan_answer(const PlanSet& set, const Scenario& scenario);

/// Is a lack of room the only reason of the refusal: of memory, or of blocks whose number was set in place of memory?
bool is_lack_of_room(const SpecError& error);

/// The plan at one length. Its only capacity says whether a request of that length fits, so that a pool which is too
/// small is an answer and no error. Throws SpecError as make_plan. Pre: the pool has room for a request of one token.
CachePlan plan_fitting_or_not(const ModelSpec& model, const EngineSpec& engine, std::int64_t max_model_len,
                              PlanDetail detail = PlanDetail::numbers);

/// The plan of one pack size alone, that at a position of the scenario, for answers that hold one plan at a time.
/// Throws as plan_scenario. Pre: 0 <= position < scenario.pack_sizes.size().
CachePlan plan_pack(const Scenario& scenario, std::size_t position, PlanDetail detail = PlanDetail::full);

}  // namespace hybridkv
