#include "ask/release_glance.h"

#include <algorithm>

#include "base/error.h"
#include "engines/engine.h"
#include "planner/default_mode.h"
#include "planner/plan.h"
#include "planner/plan_facts.h"
#include "planner/primary_attention.h"

namespace hybridkv {

namespace {

/// Did somebody write the key, rather than leave it to the default? What stands nowhere is shown at its section.
bool is_written(const Scenario& scenario, const char* key) {
  return scenario.places.find(key) != scenario.places.find("engine");
}

/// The engine with everything left out that only this program or another release knows.
EngineSpec by_rules(const EngineRules& rules, const Scenario& scenario) {
  EngineSpec engine = scenario.engine;
  engine.rules = &rules;
  engine.backend_profile = engine.backend_profile.value_or(BackendProfile::sm90);
  engine.strategy = rules.strategy;
  engine.state_memory_ratio.reset();
  engine.state_requests.reset();
  engine.physical_order = PhysicalOrder::nhd;
  engine.token_rule = TokenRule::concurrency;
  if (!is_written(scenario, "engine.cache_mode")) engine.cache_mode = default_cache_mode(rules, scenario.model);
  return engine;
}

}  // namespace

std::optional<ReleaseGlance> glance_at_successor(const Scenario& scenario) {
  const Engine* const successor = engine_of(*scenario.engine.rules).successor;
  if (successor == nullptr) return std::nullopt;
  ReleaseGlance glance;
  glance.label = successor->label;
  try {
    const EngineSpec engine = by_rules(*successor->rules, scenario);
    glance.profile = *engine.backend_profile;
    const std::int64_t packs[] = {1};
    const PlanSet set = make_plans(scenario.model, engine, scenario.limits, packs, std::nullopt, PlanDetail::summary);
    const CachePlan& plan = set.plans.front();
    if (largest_state(plan) != nullptr) glance.mode = plan.cache_mode;
    glance.block_tokens = primary_block_tokens(plan);
    glance.capacity = capacity_of(plan, longest_length(set));
  } catch (const InputError& error) {  // refused, or too large for 64 bits
    glance.refusal = error.what();
  }
  return glance;
}

}  // namespace hybridkv
