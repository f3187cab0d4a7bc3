#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/scenario_options.h"
#include "layout/error.h"
#include "report/json_text.h"
#include "report/plan_json.h"
#include "report/verify_report.h"

namespace hybridkv {

namespace {

struct VerifyOptions {
  ScenarioOptions scenario;
  OutputOptions output;
  std::vector<std::string> inject;
  std::string export_folder;
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
    std::string known = "all";
    for (const FaultInfo& info : all_faults()) known += fmt::format(", {}", info.name);
    throw InputError(fmt::format("--inject {}: no such fault; take one of {}", name, known));
  }
  if (faults.empty()) faults.emplace_back();
  return faults;
}

std::string fault_list() {
  std::string text = "Faults for --inject (exit code 1 when a check finds it):\n";
  for (const FaultInfo& info : all_faults()) text += fmt::format("  {:<18}{}\n", info.name, info.description);
  return text + fmt::format("  {:<18}each of them in turn\n", "all");
}

VerifySpec verify_spec(const Scenario& scenario, const VerifyOptions& options) {
  VerifySpec spec;
  spec.requests = requests_of_lengths(scenario.verify.request_tokens);
  spec.seed = scenario.verify.seed;
  spec.resident_budget_bytes = scenario.verify.resident_budget_bytes;
  spec.export_folder = options.export_folder;
  return spec;
}

/// Pack sizes to verify: those of --pack, else of the scenario's verify section, else all of them.
std::vector<std::int64_t> verified_packs(const Scenario& scenario, const VerifyOptions& options) {
  if (!options.scenario.pack.empty() || scenario.verify.pack_sizes.empty()) return scenario.pack_sizes;
  return scenario.verify.pack_sizes;
}

void write_plan(const PlanSet& plans, const std::string& folder) {
  std::ofstream file(std::filesystem::path(folder) / "plan.json");
  file << json_text(to_json(plans));
  if (!file.flush()) throw ResourceError(folder + "/plan.json: cannot be written");
}

int run_verify(const VerifyOptions& options) {
  const Scenario scenario = read_scenario(options.scenario);
  const std::vector<std::int64_t> packs = verified_packs(scenario, options);
  const std::vector<std::optional<Fault>> faults = faults_of(options.inject);
  if (!options.export_folder.empty() && packs.size() > 1)
    throw InputError("--export writes one plan; choose its pack size with --pack N");
  const PlanSet plans = plan_scenario(scenario, packs);
  VerifySpec spec = verify_spec(scenario, options);
  std::vector<VerifyReport> reports;
  {
    Progress progress(options.output.quiet);
    for (const CachePlan& plan : plans.plans)
      for (const std::optional<Fault>& fault : faults) {
        spec.fault = fault;
        const std::string what = fmt::format("verify N = {}", plan.attention_pack_size);
        reports.push_back(verify_plan(plan, spec, [&](std::string_view step, int done, int total) {
          progress.update(what, step, done, total);
        }));
      }
  }
  if (!options.export_folder.empty()) write_plan(plans, options.export_folder);
  write_output(render_verify(plans.model, reports, options.output.format(), options.output.style()));
  const bool all_passed =
      std::all_of(reports.begin(), reports.end(), [](const VerifyReport& report) { return report.passed(); });
  return all_passed ? exit_fine : exit_fault_found;
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
  command->footer(fault_list() +
                  "\nExamples:\n"
                  "  hybridkv verify qwen3.5-397b\n"
                  "  hybridkv verify qwen3.5-397b --pack 5 --inject zero-full-page\n"
                  "  hybridkv verify my.yaml --pack 4 --export recompute-me");
  command->callback([options, &action] { action = [options] { return run_verify(*options); }; });
}

}  // namespace hybridkv
