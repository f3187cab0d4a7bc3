#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ask/verdict.h"
#include "scenarios/read.h"
#include "scenarios/scenario.h"
#include "verify/forward/forward.h"
#include "verify/forward/forward_path.h"

namespace hybridkv {

/// One model under one engine setting and pack size, whose forward passes are compared.
struct ForwardTask {
  ModelSpec model;
  EngineSpec engine;  ///< with the pack size
};

/// A task for each pack of the scenario that is to be verified, see verified_packs.
std::vector<ForwardTask> forward_tasks(const Scenario& scenario, bool packs_chosen);

/// Gives a question that names none a memory and a longest request: forward passes size their pools themselves, so that
/// neither changes what they show.
void give_pools(ScenarioFile& file);

/// Tasks of every shipped model, and what was assumed of one or left unused, a sentence each.
struct ForwardTasks {
  std::vector<ForwardTask> tasks;
  std::vector<std::string> notes;
};

/// Of every shipped model at N = 1 and 3, or where packs were chosen at those that `lay_over` sets. It lays over an
/// empty file whatever is asked of all of them; model, memory and length come on top, as forward passes size their
/// pools themselves. A release with tree pools, or pages of a size of their own for each layer, has N = 1 alone. The
/// models that a release does not plan are left out with a note, and so is N = 3 of those that it plans at N = 1 alone.
/// Throws as read_scenario and what `lay_over` throws.
ForwardTasks forward_tasks_of_all_models(bool packs_chosen,
                                         const std::function<void(ScenarioFile&)>& lay_over = {});

/// A fault to plant: of the engine, or of the layout.
using ForwardPlant = std::variant<ForwardFault, Fault>;

/// What a name plants under a release: one fault of an engine or of the layout; "all" stands for every one of an engine
/// that the release has. Nothing where no fault is called so.
std::vector<ForwardPlant> forward_plants(std::string_view name, const EngineRules& rules);

/// Copies of `plain`, one for each fault, or `plain` itself where there is no fault. Where `plain` names no case, a
/// fault of the engine is planted into the case that finds it.
std::vector<ForwardSpec> forward_specs(const ForwardSpec& plain, const std::vector<ForwardPlant>& faults);

struct ForwardAnswer {
  std::vector<ForwardReport> reports;  ///< task by task, of each in the order of the specs
  Verdict verdict = Verdict::passed;
};

/// Called as verification goes on: the task, the number of its run from 0, and how many of how many cases are done.
using ForwardAnswerProgress = std::function<void(const ForwardTask& task, std::size_t run, int done, int total)>;

/// Runs every task with every spec. Throws as verify_forward.
ForwardAnswer forward(const std::vector<ForwardTask>& tasks, const std::vector<ForwardSpec>& specs,
                      Planted planted = Planted::no_or_single, const ForwardAnswerProgress& progress = {});

}  // namespace hybridkv
