#include "search/planned_space.h"

#include <algorithm>

#include "planner/capacity.h"
#include "planner/plan.h"

namespace hybridkv {

CachePlan PlannedSpace::plan_of(const EngineSpec& engine) const {
  return make_plan(spec_.model, engine, limits_, std::nullopt, PlanDetail::numbers);
}

PlannedLayout PlannedSpace::planned(const EngineSpec& engine) const {
  PlannedLayout layout{.engine = engine, .plan = plan_of(engine)};
  layout.cache = replayed_cache(layout.plan, spec_.model, engine, spec_.longest_length());
  return layout;
}

double PlannedSpace::running(const CachePlan& plan, std::int64_t tokens) const {
  return capacity_at(plan, tokens, spec_.engine.token_rule).usable_concurrency;
}

const PlannedLayout& PlannedSpace::most_running(const std::vector<const PlannedLayout*>& layouts) const {
  return **std::max_element(layouts.begin(), layouts.end(), [&](const PlannedLayout* a, const PlannedLayout* b) {
    return running(a->plan, spec_.at_length) < running(b->plan, spec_.at_length);
  });
}

}  // namespace hybridkv
