#include <memory>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/scenario_options.h"
#include "report/explain_report.h"
#include "report/plan_report.h"

namespace hybridkv {

namespace {

struct PlanOptions {
  ScenarioOptions scenario;
  OutputOptions output;
};

/// `plan` and `explain` ask the same question and differ only in how the answer is shown.
template <class Render>
void add_planning_command(CLI::App& app, CommandAction& action, const char* name, const char* description,
                          const char* examples, Render render) {
  CLI::App* command = app.add_subcommand(name, description);
  const auto options = std::make_shared<PlanOptions>();
  add_scenario_options(*command, options->scenario);
  add_output_options(*command, options->output);
  command->footer(examples);
  command->callback([options, &action, render] {
    action = [options, render] {
      const Scenario scenario = read_scenario(options->scenario);
      const PlanSet plans = plan_scenario(scenario, scenario.pack_sizes);
      write_output(render(plans, options->output.format(), options->output.style()));
      return exit_fine;
    };
  });
}

}  // namespace

void add_plan_command(CLI::App& app, CommandAction& action) {
  add_planning_command(app, action, "plan",
                       "Compute page, block, strides, capacity, prefix granularity and waste of a layout",
                       "Examples:\n"
                       "  hybridkv plan qwen3.5-397b\n"
                       "  hybridkv plan qwen3.5-397b --pack 5 --set engine.cache_mode=all\n"
                       "  hybridkv plan --model Nemotron-3-Nano-30B-A3B --memory 20GiB \\\n"
                       "      --max-model-len 128k --pack 1..6\n"
                       "  hybridkv plan --model Qwen/Qwen3.5-4B-FP8 --kv-dtype fp8 --mode align \\\n"
                       "      --memory 20G --max-model-len 32k\n"
                       "  hybridkv plan --model config.json --memory 20GiB --max-model-len 128k\n"
                       "  hybridkv plan my.yaml --format json | jq '.plans[0].views'",
                       [](const PlanSet& plans, Format format, const Style& style) {
                         return render_plan(plans, format, style);
                       });
}

void add_explain_command(CLI::App& app, CommandAction& action) {
  add_planning_command(app, action, "explain", "Derive every number of a plan, step by step, with the source of its rule",
                       "Examples:\n"
                       "  hybridkv explain qwen3.5-397b --pack 5\n"
                       "  hybridkv explain my.yaml --pack 4 --format markdown",
                       [](const PlanSet& plans, Format format, const Style& style) {
                         return render_explain(plans, format, style);
                       });
}

}  // namespace hybridkv
