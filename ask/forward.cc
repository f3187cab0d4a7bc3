#include "ask/forward.h"

#include <fmt/format.h>

#include <algorithm>

#include "ask/verify.h"
#include "base/error.h"
#include "planner/plan.h"
#include "planner/validate.h"
#include "scenarios/flags_alone.h"
#include "scenarios/model_library.h"

namespace hybridkv {

namespace {

void add_tasks(std::vector<ForwardTask>& tasks, const Scenario& scenario, bool packs_chosen) {
  for (const std::int64_t pack : verified_packs(scenario, packs_chosen)) {
    tasks.push_back({scenario.model, scenario.engine});
    tasks.back().engine.attention_pack_size = pack;
  }
}

/// Does the release give every layer pages of its own, and does it have rules about the models that it plans?
bool takes_one_layer_a_page(const EngineRules& rules) {
  return !takes(rules, "attention_pack_size");
}

/// Why a release with such pages does not plan the model at all; empty where it does, and for all other releases.
std::string why_left_out(const Scenario& scenario) {
  if (!takes_one_layer_a_page(*scenario.engine.rules)) return "";
  try {
    validate(scenario.model, scenario.engine, scenario.limits);
  } catch (const SpecError& error) {
    if (error.path() != "engine.release") throw;
    return error.message();
  }
  return "";
}

/// Leaves out the packs that the scenario's release does not plan of its model, with a note of each: nobody asked for
/// them.
void drop_refused_packs(Scenario& scenario, std::vector<std::string>& notes) {
  std::erase_if(scenario.pack_sizes, [&](std::int64_t pack) {
    EngineSpec engine = scenario.engine;
    engine.attention_pack_size = pack;
    try {
      make_plan(scenario.model, engine, scenario.limits, std::nullopt, PlanDetail::numbers);
    } catch (const SpecError& error) {
      if (error.path() != "engine.attention_pack_size") throw;
      notes.push_back(fmt::format("{} is left out at N = {}: {}", scenario.model.name, pack, error.message()));
      return true;
    }
    return false;
  });
}

// Of passes that size their pools themselves.
void give_memory(ScenarioFile& file) { apply_override(file, "engine.memory", "1 TiB", "--memory 1 TiB"); }
void give_length(ScenarioFile& file) { apply_override(file, "limits.max_model_len", "1", "--max-model-len 1"); }

}  // namespace

std::vector<ForwardTask> forward_tasks(const Scenario& scenario, bool packs_chosen) {
  std::vector<ForwardTask> tasks;
  add_tasks(tasks, scenario, packs_chosen);
  return tasks;
}

void give_pools(ScenarioFile& file) {
  if (!says_any(file, "engine", {"memory", "num_blocks"})) give_memory(file);
  if (!says_any(file, "limits", {"max_model_len"})) give_length(file);
}

ForwardTasks forward_tasks_of_all_models(bool packs_chosen, const std::function<void(ScenarioFile&)>& lay_over) {
  ForwardTasks all;
  for (const ShippedModel& shipped : shipped_models()) {
    ScenarioFile file = flags_alone();
    if (lay_over) lay_over(file);
    apply_override(file, "model", yaml_quoted(shipped.model.name), "--model " + shipped.model.name);
    give_memory(file);
    give_length(file);
    Scenario scenario = read_scenario(file);
    const bool takes_packs = !takes_one_layer_a_page(*scenario.engine.rules) &&
                             scenario.engine.strategy != Strategy::two_level;
    if (!packs_chosen && takes_packs) {
      scenario.pack_sizes = {1, 3};
      drop_refused_packs(scenario, all.notes);
    }
    all.notes.insert(all.notes.end(), scenario.notes.begin(), scenario.notes.end());
    const std::string refusal = why_left_out(scenario);
    if (refusal.empty())
      add_tasks(all.tasks, scenario, packs_chosen);
    else
      all.notes.push_back(fmt::format("{} is left out: {}", shipped.model.name, refusal));
  }
  return all;
}

std::vector<ForwardPlant> forward_plants(std::string_view name, const EngineRules& rules) {
  if (name == "all") {
    const std::vector<ForwardFault> faults = forward_faults_of(rules);
    return {faults.begin(), faults.end()};
  }
  if (const auto fault = parse_forward_fault(name)) return {*fault};
  if (const auto fault = parse_fault(name)) return {*fault};
  return {};
}

std::vector<ForwardSpec> forward_specs(const ForwardSpec& plain, const std::vector<ForwardPlant>& faults) {
  if (faults.empty()) return {plain};
  std::vector<ForwardSpec> specs;
  for (const ForwardPlant& fault : faults) {
    ForwardSpec& spec = specs.emplace_back(plain);
    if (const Fault* const of_layout = std::get_if<Fault>(&fault)) {
      spec.layout_fault = *of_layout;
      continue;
    }
    spec.fault = std::get<ForwardFault>(fault);
    if (!spec.cases.empty()) continue;
    const auto& cases = all_forward_cases();
    const std::string_view finder = all_forward_faults()[static_cast<std::size_t>(*spec.fault)].found_by;
    std::copy_if(cases.begin(), cases.end(), std::back_inserter(spec.cases),
                 [&](ForwardCase one) { return to_string(one) == finder; });
  }
  return specs;
}

ForwardAnswer forward(const std::vector<ForwardTask>& tasks, const std::vector<ForwardSpec>& specs, Planted planted,
                      const ForwardAnswerProgress& progress) {
  ForwardAnswer answer;
  NetworkReferences networks;  // of the model at hand, whose tasks and faults follow each other
  const std::string* model = nullptr;
  for (const ForwardTask& task : tasks)
    for (const ForwardSpec& spec : specs) {
      const std::size_t run = answer.reports.size();
      if (!model || *model != task.model.name) networks = {};
      model = &task.model.name;
      answer.reports.push_back(verify_forward(task.model, task.engine, spec, networks, [&](int done, int total) {
        if (progress) progress(task, run, done, total);
      }));
    }
  answer.verdict = verdict_of(answer.reports, planted);
  return answer;
}

}  // namespace hybridkv
