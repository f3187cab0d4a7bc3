#include "ask/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "ask/start/serve_plan.h"
#include "base/error.h"
#include "engines/engine.h"
#include "planner/plan_facts.h"

namespace hybridkv {

namespace {

/// The largest number that was written, for what is too large for 64 bits.
InputError located_overflow(const InputError& error, const Scenario& scenario) {
  if (!scenario.largest) return error;
  return error_at(scenario.largest->place, fmt::format("{}: {} is more than can be planned; {}", scenario.largest->path,
                                                       scenario.largest->value, error.what()));
}

}  // namespace

PlanSet plan_scenario(const Scenario& scenario, const std::vector<std::int64_t>& pack_sizes, PlanDetail detail) {
  try {
    return make_plans(scenario.model, scenario.engine, scenario.limits, pack_sizes, scenario.workspace, detail);
  } catch (const SpecError& error) {
    throw located(error, scenario);
  } catch (const InputError& error) {
    throw located_overflow(error, scenario);
  }
}

PlanAnswer plan_answer(const PlanSet& set) {
  PlanAnswer findings{.packs = compare_packs(set.plans), .requests = {}, .successor = {}, .serve = {}};
  for (const CachePlan& plan : set.plans) findings.requests.push_back(request_demand(plan, longest_length(set)));
  return findings;
}

PlanAnswer plan_answer(const PlanSet& set, const Scenario& scenario) {
  PlanAnswer findings = plan_answer(set);
  findings.successor = glance_at_successor(scenario);
  if (set.plans.size() == 1 && engine_of(*scenario.engine.rules).successor == nullptr)
    findings.serve = serve_plan(scenario, set.plans.front());
  return findings;
}

bool is_lack_of_room(const SpecError& error) {
  constexpr std::string_view keys[] = {"engine.memory", "engine.pipeline_memory", "engine.num_blocks"};
  return std::find(std::begin(keys), std::end(keys), error.path()) != std::end(keys);
}

CachePlan plan_fitting_or_not(const ModelSpec& model, const EngineSpec& engine, std::int64_t max_model_len,
                              PlanDetail detail) {
  try {
    return make_plan(model, engine, {.max_model_lens = {max_model_len}}, std::nullopt, detail);
  } catch (const SpecError& error) {
    if (!is_lack_of_room(error)) throw;
  }
  // Refused is then only a pool that is too small for every length.
  CachePlan plan = make_plan(model, engine, {.max_model_lens = {1, max_model_len}}, std::nullopt, detail);
  plan.capacity.erase(plan.capacity.begin());
  return plan;
}

CachePlan plan_pack(const Scenario& scenario, std::size_t position, PlanDetail detail) {
  PlanSet set = plan_scenario(scenario, {scenario.pack_sizes.at(position)}, detail);
  return std::move(set.plans.front());
}

}  // namespace hybridkv
