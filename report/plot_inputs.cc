#include "report/plot_inputs.h"

#include "base/error.h"
#include "planner/primary_attention.h"
#include "report/plan_table.h"

namespace hybridkv {

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

}  // namespace hybridkv
