#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "ask/verify_request.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/help_format.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/scenario_options.h"
#include "report/forward_report.h"
#include "report/json_text.h"
#include "report/plan_json.h"
#include "report/verify_report.h"
#include "scenarios/model_library.h"
#include "verify/export.h"
#include "verify/plant.h"

namespace hybridkv {

namespace {

struct VerifyOptions {
  ScenarioOptions scenario;
  OutputOptions output;
  std::vector<std::string> inject;
  std::string export_folder;
  bool forward = false;
  bool all_models = false;
  std::int64_t scale = 16;
  std::vector<std::string> cases;
};

std::vector<std::optional<Fault>> faults_of(const std::vector<std::string>& names) {
  std::vector<std::optional<Fault>> faults;
  for (const std::string& name : names) {
    if (name == "all") {
      for (const FaultInfo& info : all_faults()) faults.emplace_back(info.fault);
      continue;
    }
    faults.push_back(parse_fault(name));
    if (faults.back()) continue;
    std::vector<std::string> known{"all"};
    for (const FaultInfo& info : all_faults()) known.emplace_back(info.name);
    throw InputError(fmt::format("--inject {}: no such fault; take one of {}{}", name, fmt::join(known, ", "),
                                 did_you_mean(name, known)));
  }
  if (faults.empty()) faults.emplace_back();
  return faults;
}

std::string fault_list() {
  std::string text = "Faults for --inject (exit code 1 when a check finds it; of all of them 0 when\n"
                     "each that has a place in the plan is caught, 1 when one is not):\n";
  for (const FaultInfo& info : all_faults())
    text += help_entry(std::string(info.name), std::string(info.description));
  text += "With --forward also:\n";
  for (const ForwardFaultInfo& info : all_forward_faults())
    text += help_entry(std::string(info.name), fmt::format("{} (found by {})", info.description, info.found_by));
  return text + help_entry("all", "each of them in turn");
}

/// Forward cases of the names given; none: all.
std::vector<ForwardCase> cases_of(const std::vector<std::string>& names) {
  std::vector<ForwardCase> cases;
  for (const std::string& name : names) {
    const std::size_t before = cases.size();
    std::vector<std::string> known;
    for (const ForwardCase forward_case : all_forward_cases()) {
      if (to_string(forward_case) == name) cases.push_back(forward_case);
      known.emplace_back(to_string(forward_case));
    }
    if (cases.size() == before)
      throw InputError(fmt::format("--case {}: no such case; take one of {}{}", name, fmt::join(known, ", "),
                                   did_you_mean(name, known)));
  }
  return cases;
}

/// A forward spec for every fault to plant: of the engine, or of the layout.
std::vector<ForwardSpec> forward_specs(const VerifyOptions& options) {
  ForwardSpec plain;
  plain.scale = options.scale;
  plain.cases = cases_of(options.cases);
  if (options.inject.empty()) return {plain};
  std::vector<ForwardSpec> specs;
  const auto add = [&](const ForwardFaultInfo& info) {
    ForwardSpec spec = plain;
    spec.fault = info.fault;
    if (spec.cases.empty()) spec.cases = cases_of({std::string(info.found_by)});
    specs.push_back(spec);
  };
  for (const std::string& name : options.inject) {
    if (name == "all") {
      for (const ForwardFaultInfo& info : all_forward_faults()) add(info);
      continue;
    }
    if (const auto fault = parse_forward_fault(name)) {
      add(all_forward_faults()[static_cast<std::size_t>(*fault)]);
      continue;
    }
    ForwardSpec spec = plain;
    spec.layout_fault = faults_of({name}).front();
    specs.push_back(spec);
  }
  return specs;
}

struct ForwardTask {
  ModelSpec model;
  EngineSpec engine;
};

void add_tasks(std::vector<ForwardTask>& tasks, const Scenario& scenario, const VerifyOptions& options) {
  for (const std::int64_t pack : verified_packs(scenario, !options.scenario.pack.empty())) {
    tasks.push_back({scenario.model, scenario.engine});
    tasks.back().engine.attention_pack_size = pack;
  }
}

std::vector<ForwardTask> forward_tasks(const VerifyOptions& options) {
  std::vector<ForwardTask> tasks;
  if (!options.all_models) {
    add_tasks(tasks, read_scenario(options.scenario), options);
    return tasks;
  }
  if (!options.scenario.scenario.empty() || !options.scenario.model.empty())
    throw InputError("--all-models runs every shipped model; leave out the scenario and --model");
  for (const ShippedModel& shipped : shipped_models()) {
    ScenarioOptions flags = options.scenario;
    flags.model = shipped.model.name;
    if (flags.pack.empty()) flags.pack = "1,3";
    flags.memory = "1 TiB";  // forward passes size their pools themselves
    flags.max_model_len = "1";
    add_tasks(tasks, read_scenario(flags), options);
  }
  return tasks;
}

bool plants_all(const std::vector<std::string>& inject) {
  return std::find(inject.begin(), inject.end(), "all") != inject.end();
}

/// Of faults planted one by one: 1 where a check found one. Of all of them: 0 where each that has a place was caught.
int forward_exit_code(const std::vector<ForwardReport>& reports, bool all_planted) {
  const auto all = [&](auto&& is) { return std::all_of(reports.begin(), reports.end(), is); };
  if (all_planted)
    return all([](const ForwardReport& report) { return report.caught() || !report.applies(); }) ? exit_fine
                                                                                                 : exit_fault_found;
  if (all([](const ForwardReport& report) { return report.passed(); })) return exit_fine;
  const bool none_found = all([](const ForwardReport& report) { return report.first_failure() == nullptr; });
  return none_found ? exit_not_proven : exit_fault_found;
}

int run_forward(const VerifyOptions& options) {
  if (!options.export_folder.empty()) throw InputError("--export writes batches of one layer; leave out --forward");
  const std::vector<ForwardTask> tasks = forward_tasks(options);
  const std::vector<ForwardSpec> specs = forward_specs(options);
  std::vector<ForwardReport> reports;
  {
    Progress progress(options.output.quiet);
    for (const ForwardTask& task : tasks)
      for (const ForwardSpec& spec : specs)
        reports.push_back(verify_forward(task.model, task.engine, spec, [&](int done, int total) {
          progress.update(fmt::format("{}, N = {}", task.model.name, task.engine.attention_pack_size),
                          fmt::format("run {} of {}", reports.size() + 1, tasks.size() * specs.size()), done, total);
        }));
  }
  write_output(render_forward(reports, options.output.format(), options.output.style()));
  return forward_exit_code(reports, plants_all(options.inject));
}

/// The fault may have no place in the plan where it is one of all; asked for by name it must have one.
VerifyReport verify_planted(const CachePlan& plan, const VerifySpec& spec, bool all_planted,
                            const VerifyProgress& progress) {
  try {
    return verify_plan(plan, spec, progress);
  } catch (const NoPlaceError& error) {
    if (!all_planted) throw;
    return {.attention_pack_size = plan.attention_pack_size, .fault = spec.fault, .no_place = error.why()};
  }
}

/// Of faults planted one by one, or none: 1 where a check found one, 5 where one could not run for lack of a codec. Of
/// all of them: 0 where each was caught.
int verify_exit_code(const std::vector<VerifyReport>& reports, bool all_planted) {
  const bool fine = std::all_of(reports.begin(), reports.end(), [&](const VerifyReport& report) {
    return all_planted ? report.caught() || !report.no_place.empty() : report.passed();
  });
  if (fine) return exit_fine;
  const bool unproven = !all_planted && std::all_of(reports.begin(), reports.end(), [](const VerifyReport& report) {
    return report.passed() || report.first_unproven() != nullptr;
  });
  return unproven ? exit_not_proven : exit_fault_found;
}

void write_plan(const PlanSet& plans, const std::string& folder) {
  write_file(std::filesystem::path(folder) / "plan.json", json_text(to_json(plans)));
}

int run_verify(const VerifyOptions& options) {
  if (options.forward) return run_forward(options);
  if (options.all_models || !options.cases.empty())
    throw InputError("--all-models and --case belong to --forward; add it");
  const Scenario scenario = read_scenario(options.scenario);
  const std::vector<std::int64_t> packs = verified_packs(scenario, !options.scenario.pack.empty());
  const std::vector<std::optional<Fault>> faults = faults_of(options.inject);
  if (!options.export_folder.empty() && packs.size() > 1)
    throw InputError("--export writes one plan; choose its pack size with --pack N");
  if (!options.export_folder.empty() && faults.size() > 1)
    throw InputError("--export writes one verification; plant one fault at most with --inject FAULT");
  if (!options.export_folder.empty()) check_export_folder(options.export_folder);
  const PlanSet plans = plan_scenario(scenario, packs);
  VerifySpec spec = verify_spec(scenario);
  spec.until_caught = plants_all(options.inject);
  spec.export_folder = options.export_folder;
  std::vector<VerifyReport> reports;
  {
    Progress progress(options.output.quiet);
    for (const CachePlan& plan : plans.plans)
      for (const std::optional<Fault>& fault : faults) {
        spec.fault = fault;
        const std::string what = fmt::format("verify N = {}{}", plan.attention_pack_size,
                                             fault ? fmt::format(", {}", to_string(*fault)) : std::string());
        reports.push_back(
            verify_planted(plan, spec, plants_all(options.inject), [&](std::string_view step, int done, int total) {
              progress.update(what, step, done, total);
            }));
      }
  }
  // Where addresses are wrong nothing was written, so there is nothing to export.
  if (!options.export_folder.empty() && reports.front().resident_bytes > 0) write_plan(plans, options.export_folder);
  write_output(render_verify(plans.model, reports, options.output.format(), options.output.style()));
  return verify_exit_code(reports, plants_all(options.inject));
}

}  // namespace

void add_verify_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "verify", "Allocate the pools of a plan, run traffic through every view and check every address and result");
  const auto options = std::make_shared<VerifyOptions>();
  add_scenario_options(*command, options->scenario);
  add_output_options(*command, options->output);
  command->add_option("--inject", options->inject, "plant a fault on purpose; see below")->type_name("FAULT");
  command
      ->add_option("--export", options->export_folder,
                   "write batches, results, raw pages and the plan to a new folder, as .npy and .json")
      ->type_name("DIR");
  command->add_flag("--forward", options->forward,
                    "run a random network of the model's layers, scaled down, through the pages and compare it with "
                    "the same network run without them");
  command->add_option("--scale", options->scale, "--forward: divide head counts and head sizes by this; default 16")
      ->type_name("N");
  command->add_option("--case", options->cases, "--forward: only this case; default: all")->type_name("CASE");
  command->add_flag("--all-models", options->all_models, "--forward: every shipped model, at N = 1 and 3 or --pack");
  command->footer(fault_list() +
                  "\nExamples:\n"
                  "  hybridkv verify --forward qwen3.5-397b --pack 1,2,3,5\n"
                  "  hybridkv verify --forward --all-models\n"
                  "  hybridkv verify --forward qwen3.5-397b --pack 3 --inject all\n"
                  "  hybridkv verify qwen3.5-397b\n"
                  "  hybridkv verify qwen3.5-397b --pack 5 --inject zero-full-page\n"
                  "  hybridkv verify my.yaml --pack 4 --export recompute-me");
  command->callback([options, &action] { action = [options] { return run_verify(*options); }; });
}

}  // namespace hybridkv
