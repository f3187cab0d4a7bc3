#include "ask/plot/plot_inputs.h"

#include "ask/plan.h"
#include "ask/replay/simulate_request.h"
#include "base/error.h"
#include "planner/primary_attention.h"
#include "simulator/blocks/plan_geometry.h"

namespace hybridkv {

namespace {

/// Plans to draw against the pack size where nobody said which: N that divide the layers of the primary attention, of
/// those that can be planned. One plan would be a lonely point.
PlanSet plans_of_divisors(const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits,
                          const PlanSet& set) {
  const SpecPlan* attention = primary_attention(set.plans.front());
  if (attention == nullptr) return set;
  PlanSet compared = set;
  compared.plans.clear();
  const std::int64_t layers = std::ssize(attention->layers);
  for (std::int64_t pack = 1; pack <= layers; ++pack) {
    if (layers % pack != 0) continue;
    try {
      const std::int64_t packs[] = {pack};
      compared.plans.push_back(make_plans(model, engine, limits, packs).plans.front());
    } catch (const SpecError&) {
      // A page too large for the memory says nothing of the others.
    }
  }
  return compared.plans.empty() ? set : compared;
}

}  // namespace

CacheGeometry replayed_cache(const PlotInputs& inputs, const CachePlan& plan) {
  return with_settings(geometry_of(plan, inputs.engine), inputs.simulate, plan);
}

PlotInputs plot_inputs(const Scenario& scenario) {
  PlotInputs inputs{.model = scenario.model,
                    .engine = scenario.engine,
                    .limits = scenario.limits,
                    .set = plan_scenario(scenario, scenario.pack_sizes),
                    .simulate = scenario.simulate};
  inputs.compared =
      scenario.packs_given ? inputs.set : plans_of_divisors(inputs.model, inputs.engine, inputs.limits, inputs.set);
  return inputs;
}

}  // namespace hybridkv
