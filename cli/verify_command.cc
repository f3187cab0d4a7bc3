#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "ask/forward.h"
#include "ask/verify.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/engine_words.h"
#include "cli/exit_codes.h"
#include "cli/help_format.h"
#include "cli/offers.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/scenario_options.h"
#include "report/json_text.h"
#include "report/plan/plan_json.h"
#include "report/plan/rules_text.h"
#include "report/proof/forward_report.h"
#include "report/proof/verify_report.h"
#include "report/text.h"

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

/// What --inject takes without --forward.
std::vector<std::string> fault_names() {
  std::vector<std::string> names{"all"};
  for (const FaultInfo& info : all_faults()) names.emplace_back(info.name);
  return names;
}

InputError no_such_fault(const std::string& name, const std::vector<std::string>& known) {
  return InputError(fmt::format("--inject {}: no such fault; take one of {}{}", name, fmt::join(known, ", "),
                                did_you_mean(name, known)));
}

std::vector<std::optional<Fault>> faults_of(const std::vector<std::string>& names) {
  std::vector<std::optional<Fault>> faults;
  for (const std::string& name : names) {
    if (name == "all") {
      for (const FaultInfo& info : all_faults()) faults.emplace_back(info.fault);
      continue;
    }
    faults.push_back(parse_fault(name));
    if (!faults.back()) throw no_such_fault(name, fault_names());
  }
  if (faults.empty()) faults.emplace_back();
  return faults;
}

std::vector<std::string> offered_faults() {
  std::vector<std::string> names = fault_names();
  for (const ForwardFaultInfo& info : all_forward_faults()) names.emplace_back(info.name);
  return names;
}

std::string fault_list() {
  std::string text = "Faults for --inject (exit code 1 when a check finds it; of all of them 0 when\n"
                     "each that has a place in the plan is caught, 1 when one is not):\n";
  for (const FaultInfo& info : all_faults())
    text += help_entry(std::string(info.name), std::string(info.description));
  const auto add = [&](auto&& belongs) {
    for (const ForwardFaultInfo& info : all_forward_faults())
      if (belongs(info.paths))
        text += help_entry(std::string(info.name), fmt::format("{} (found by {})", info.description, info.found_by));
  };
  text += "With --forward also:\n";
  add([](ForwardPaths paths) { return paths.blocks; });
  text += fmt::format("With --forward by the rules of {} besides:\n", engines_through(ForwardPath::exports));
  add([](ForwardPaths paths) { return paths.exports && !paths.blocks; });
  text += fmt::format("With --forward through a radix tree ({}) the first of those, and:\n",
                      engines_through(ForwardPath::tree));
  add([](ForwardPaths paths) { return paths.tree && !paths.blocks; });
  const auto named_before = [](ForwardPaths paths) { return paths.blocks || paths.tree; };
  const auto shared = [](auto&& belongs) {
    std::vector<std::string_view> names;
    for (const ForwardFaultInfo& info : all_forward_faults())
      if (belongs(info.paths)) names.push_back(info.name);
    return fmt::format("{}\n", fmt::join(wrap(fmt::format("{}, and:", fmt::join(names, ", ")), help_width), "\n"));
  };
  text += fmt::format("With --forward through the slots of a server ({})\n{}",
                      engines_through(ForwardPath::slots),
                      shared([&](ForwardPaths paths) { return paths.slots && named_before(paths); }));
  add([&](ForwardPaths paths) { return paths.slots && !named_before(paths); });
  const auto is_known = [&](ForwardPaths paths) { return named_before(paths) || paths.slots; };
  text += fmt::format("With --forward through a tree with snapshots ({})\n{}",
                      engines_through(ForwardPath::snapshots),
                      shared([&](ForwardPaths paths) { return paths.snapshots && is_known(paths); }));
  add([&](ForwardPaths paths) { return paths.snapshots && !is_known(paths); });
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

/// What the names plant into forward passes.
std::vector<ForwardPlant> plants_of(const std::vector<std::string>& names, const EngineRules& rules) {
  std::vector<ForwardPlant> plants;
  for (const std::string& name : names) {
    const std::vector<ForwardPlant> one = forward_plants(name, rules);
    if (one.empty()) {
      std::vector<std::string> known = fault_names();
      for (const ForwardFault fault : forward_faults_of(rules)) known.emplace_back(to_string(fault));
      throw no_such_fault(name, known);
    }
    plants.insert(plants.end(), one.begin(), one.end());
  }
  return plants;
}

Planted planted_of(const std::vector<std::string>& inject) {
  const bool all = std::find(inject.begin(), inject.end(), "all") != inject.end();
  return all ? Planted::catalogue : Planted::no_or_single;
}

std::vector<ForwardTask> tasks_of(const VerifyOptions& options) {
  const bool packs_chosen = !options.scenario.pack.empty();
  ScenarioOptions flags = options.scenario;
  flags.fill = give_pools;
  if (!options.all_models) return forward_tasks(read_scenario(flags), packs_chosen);
  if (!options.scenario.scenario.empty() || !options.scenario.model.empty())
    throw InputError("--all-models runs every shipped model; leave out the scenario and --model");
  flags.memory.clear();
  flags.max_model_len.clear();
  const ForwardTasks all =
      forward_tasks_of_all_models(packs_chosen, [&](ScenarioFile& file) { lay_over(file, flags); });
  show_notes(all.notes);
  return all.tasks;
}

int run_forward(const VerifyOptions& options) {
  if (!options.export_folder.empty()) throw InputError("--export writes batches of one layer; leave out --forward");
  const std::vector<ForwardTask> tasks = tasks_of(options);
  ForwardSpec plain;
  plain.scale = options.scale;
  plain.cases = cases_of(options.cases);
  const std::vector<ForwardSpec> specs = forward_specs(plain, plants_of(options.inject, *tasks.front().engine.rules));
  ForwardAnswer answer;
  {
    Progress progress(options.output.quiet);
    answer = forward(tasks, specs, planted_of(options.inject),
                     [&](const ForwardTask& task, std::size_t run, int done, int total) {
                       progress.update(fmt::format("{}, N = {}", task.model.name, task.engine.attention_pack_size),
                                       fmt::format("run {} of {}", run + 1, tasks.size() * specs.size()), done, total);
                     });
  }
  write_output(render_forward(answer.reports, options.output.format(), options.output.style()));
  return exit_code_of(answer.verdict);
}

void write_plan(const PlanSet& plans, const std::string& folder) {
  write_file(std::filesystem::path(folder) / "plan.json", json_text(to_json(plans)));
}

int run_verify(const VerifyOptions& options) {
  if (options.forward) return run_forward(options);
  if (options.all_models || !options.cases.empty())
    throw InputError("--all-models and --case belong to --forward; add it");
  const Scenario scenario = read_scenario(options.scenario);
  const VerifyQuestion question{.pack_sizes = verified_packs(scenario, !options.scenario.pack.empty()),
                                .faults = faults_of(options.inject),
                                .planted = planted_of(options.inject),
                                .export_folder = options.export_folder};
  const bool exports = !options.export_folder.empty();
  if (exports && question.pack_sizes.size() > 1)
    throw InputError("--export writes one plan; choose its pack size with --pack N");
  if (exports && question.faults.size() > 1)
    throw InputError("--export writes one verification; plant one fault at most with --inject FAULT");
  VerifyAnswer answer;
  {
    Progress progress(options.output.quiet);
    answer = verify_scenario(
        scenario, question,
        [&](const CachePlan& plan, const std::optional<Fault>& fault, std::string_view step, int done, int total) {
          progress.update(fmt::format("verify N = {}{}", plan.attention_pack_size,
                                      fault ? fmt::format(", {}", to_string(*fault)) : std::string()),
                          step, done, total);
        });
  }
  // Where addresses are wrong nothing was written, so there is nothing to export.
  if (exports && answer.reports.front().resident_bytes > 0) write_plan(answer.plans, options.export_folder);
  write_output(render_verify({answer.plans.model, rules_text(scenario.engine)}, answer.reports,
                             options.output.format(), options.output.style()));
  return exit_code_of(answer.verdict);
}

}  // namespace

void add_verify_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "verify", "Allocate the pools of a plan, run traffic through every view and check every address and result");
  const auto options = std::make_shared<VerifyOptions>();
  add_scenario_options(*command, options->scenario);
  add_output_options(*command, options->output);
  command->add_option("--inject", options->inject, "plant a fault on purpose; see below")
      ->check(offers({offered_faults()}))
      ->type_name("FAULT");
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
  command->footer(with_engines(fault_list() +
                  "\nExamples:\n"
                  "  hybridkv verify --forward qwen3.5-397b --pack 1,2,3,5\n"
                  "  hybridkv verify --forward --model ./config.json\n"
                  "  hybridkv verify --forward --all-models\n"
                  "  hybridkv verify --forward qwen3.5-397b --pack 3 --inject all\n"
                  "  hybridkv verify --forward qwen3.5-397b --pack 1 --engine {tree}\n"
                  "  hybridkv verify --forward --all-models --engine {slots}\n"
                  "  hybridkv verify qwen3.5-397b\n"
                  "  hybridkv verify qwen3.5-397b --pack 5 --inject zero-full-page\n"
                  "  hybridkv verify my.yaml --pack 4 --export recompute-me"));
  command->callback([options, &action] { action = [options] { return run_verify(*options); }; });
}

}  // namespace hybridkv
