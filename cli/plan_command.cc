#include <functional>
#include <memory>

#include "ask/plan.h"
#include "cli/commands.h"
#include "cli/engine_words.h"
#include "cli/engines.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/scenario_options.h"
#include "report/plan/explain_report.h"
#include "report/plan/plan_json.h"
#include "report/plan/plan_report.h"

namespace hybridkv {

namespace {

struct PlanOptions {
  ScenarioOptions scenario;
  OutputOptions output;
};

/// Takes a text piece by piece.
using Write = std::function<void(const std::string&)>;

/// `plan` and `explain` ask the same question; `answer(scenario, output, write)` makes the plans it needs and writes
/// them: to standard output as they come, of several engines to a text of each.
template <class Answer>
void add_planning_command(CLI::App& app, CommandAction& action, const char* name, const char* description,
                          const char* examples, Answer answer) {
  CLI::App* command = app.add_subcommand(name, description);
  const auto options = std::make_shared<PlanOptions>();
  add_scenario_options(*command, options->scenario);
  add_engines_option(*command, options->scenario);
  add_output_options(*command, options->output);
  command->footer(with_engines(examples));
  command->callback([options, &action, answer] {
    action = [options, answer] {
      if (options->scenario.engines.empty())
        answer(read_scenario(options->scenario), options->output, write_output);
      else
        write_answers(options->scenario, options->output, [&](const ScenarioOptions& one) {
          std::string text;
          answer(read_scenario(one), options->output, [&](const std::string& piece) { text += piece; });
          return text;
        });
      return exit_fine;
    };
  });
}

std::string rendered(const Scenario& scenario, const PlanSet& set, const OutputOptions& output) {
  return render_plan(set, plan_answer(set, scenario), output.format(), output.style());
}

/// One plan in full. Of several, people compare numbers, so that nobody keeps the views of a thousand plans; JSON has
/// all of it, plan by plan: the first round finds what is refused and compares, before anything is written.
void print_plans(const Scenario& scenario, const OutputOptions& output, const Write& write) {
  if (scenario.pack_sizes.size() == 1) {
    write(rendered(scenario, plan_scenario(scenario, scenario.pack_sizes), output));
    return;
  }
  const PlanSet compared = plan_scenario(scenario, scenario.pack_sizes, PlanDetail::summary);
  if (output.format() != Format::json) {
    write(rendered(scenario, compared, output));
    return;
  }
  write_json(
      compared,
      [&](std::size_t i) {
        CachePlan plan = plan_pack(scenario, i);
        plan.warnings = compared.plans[i].warnings;  // what the others have to say of it included
        return plan;
      },
      write);
}

void print_derivations(const Scenario& scenario, const OutputOptions& output, const Write& write) {
  // All are checked before anything is written.
  const PlanSet checked = plan_scenario(scenario, scenario.pack_sizes, PlanDetail::summary);
  const auto plan_at = [&](std::size_t i) { return plan_pack(scenario, i, PlanDetail::derived); };
  const ExplainSource source{checked.model, checked.tensor_parallel, checked.plans.size(), scenario.model.parameters,
                             plan_at};
  write_explain(source, output.format(), output.style(), write);
}

}  // namespace

void add_plan_command(CLI::App& app, CommandAction& action) {
  add_planning_command(app, action, "plan",
                       "Compute page, block, strides, capacity, prefix granularity and waste of a layout",
                       "Examples:\n"
                       "  hybridkv plan qwen3.5-397b\n"
                       "  hybridkv plan qwen3.5-397b --pack 5 --mode all\n"
                       "  hybridkv plan qwen3.5-397b --pack 1 --engines {today},{tree}\n"
                       "  hybridkv plan --model Nemotron-3-Nano-30B-A3B --memory 20GiB \\\n"
                       "      --max-model-len 128k --pack 1..6\n"
                       "  hybridkv plan --model Qwen/Qwen3.5-4B-FP8 --kv-dtype fp8 --mode align \\\n"
                       "      --memory 20G --max-model-len 32k\n"
                       "  hybridkv plan --model config.json --memory 20GiB --max-model-len 128k\n"
                       "  hybridkv plan --memory 20G -- {command} Qwen/Qwen3.5-9B -tp 2 \\\n"
                       "      --max-model-len 32K --kv-cache-dtype fp8\n"
                       "  hybridkv plan my.yaml --format json | jq '.plans[0].views'",
                       print_plans);
}

void add_explain_command(CLI::App& app, CommandAction& action) {
  add_planning_command(app, action, "explain",
                       "Derive every number of a plan, step by step, with the source of its rule",
                       "Examples:\n"
                       "  hybridkv explain qwen3.5-397b --pack 5\n"
                       "  hybridkv explain my.yaml --pack 4 --format markdown",
                       print_derivations);
}

}  // namespace hybridkv
