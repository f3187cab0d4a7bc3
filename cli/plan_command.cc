#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "ask/asked_number.h"
#include "ask/clock/step_answer.h"
#include "ask/kernels/kernel_fit.h"
#include "ask/plan.h"
#include "cli/clock_options.h"
#include "cli/commands.h"
#include "cli/engine_command.h"
#include "cli/engine_words.h"
#include "cli/engines.h"
#include "cli/exit_codes.h"
#include "cli/kernel_options.h"
#include "cli/output.h"
#include "cli/scenario_options.h"
#include "cli/word_behind_scenario.h"
#include "report/plan/explain_report.h"
#include "report/plan/plan_json.h"
#include "report/plan/plan_report.h"
#include "report/replay/step_report.h"
#include "scenarios/step_words.h"

namespace hybridkv {

namespace {

struct PlanOptions {
  ScenarioOptions scenario;
  std::string number;  ///< that explain is asked for; empty: every number
  std::vector<std::string> kernels;  ///< files of their cards, for plan
  std::vector<KernelCard> cards;     ///< the same, read
  ClockOptions clock;                ///< for a step, that explain is asked for
  std::string step;
  OutputOptions output;
};

/// Throws InputError for a step without a GPU, and for flags of its clock without a step.
void refuse_without_step(const PlanOptions& options) {
  const ClockOptions& clock = options.clock;
  if (options.step.empty() && !(clock.gpu.empty() && clock.clock.empty() && clock.gpus == 0))
    throw InputError("--gpu, --gpus and --clock say how long a step takes; name it by --step, "
                     "\"64 x decode behind 8k\"");
}

/// Takes a text piece by piece.
using Write = std::function<void(const std::string&)>;

/// `plan` and `explain` ask the same question; `answer(scenario, options, write)` makes the plans it needs and writes
/// them: to standard output as they come, of several engines to a text of each. `add_own(command, options)` adds what
/// only one of the two takes, behind SCENARIO.
template <class AddOwn, class Answer>
void add_planning_command(CLI::App& app, CommandAction& action, const char* name, const char* description,
                          const char* examples, AddOwn add_own, Answer answer) {
  CLI::App* command = app.add_subcommand(name, description);
  const auto options = std::make_shared<PlanOptions>();
  add_scenario_options(*command, options->scenario);
  add_own(*command, *options);
  add_engines_option(*command, options->scenario);
  add_output_options(*command, options->output);
  command->footer(with_engines(examples));
  command->callback([options, &action, answer] {
    action = [options, answer] {
      options->cards = read_kernel_cards(options->kernels);
      refuse_without_step(*options);
      const auto read = [&](const ScenarioOptions& scenario) {
        return options->step.empty() ? read_scenario(scenario) : read_scenario_on(scenario, options->clock);
      };
      if (options->scenario.engines.empty()) return answer(read(options->scenario), *options, write_output);
      int worst = exit_fine;
      write_answers(options->scenario, options->output, [&](const ScenarioOptions& one) {
        std::string text;
        worst = std::max(worst, answer(read(one), *options, [&](const std::string& piece) { text += piece; }));
        return text;
      });
      return worst;
    };
  });
}

std::string rendered(const Scenario& scenario, const PlanSet& set, const OutputOptions& output) {
  return render_plan(set, plan_answer(set, scenario), output.format(), output.style());
}

/// One plan in full. Of several, people compare numbers, so that nobody keeps the views of a thousand plans; JSON has
/// all of it, plan by plan: the first round finds what is refused and compares, before anything is written.
int print_plans(const Scenario& scenario, const PlanOptions& options, const Write& write) {
  const OutputOptions& output = options.output;
  if (scenario.pack_sizes.size() == 1) {
    PlanSet set = plan_scenario(scenario, scenario.pack_sizes);
    judge_kernels(options.cards, set.plans.front());
    write(rendered(scenario, set, output));
    return exit_of_kernels(set.plans.front().kernels);
  }
  if (!options.kernels.empty())
    throw InputError("--kernels: kernels are judged by the views of one plan; give one --pack");
  const PlanSet compared = plan_scenario(scenario, scenario.pack_sizes, PlanDetail::summary);
  if (output.format() != Format::json) {
    write(rendered(scenario, compared, output));
    return exit_fine;
  }
  write_json(
      compared,
      [&](std::size_t i) {
        CachePlan plan = plan_pack(scenario, i);
        plan.warnings = compared.plans[i].warnings;  // what the others have to say of it included
        return plan;
      },
      write);
  return exit_fine;
}

void add_number(CLI::App& command, PlanOptions& options) {
  add_word_behind_scenario(command, options.number,
                           {"NUMBER", "explain this number alone, as it was printed: 2096, 1,734,082, 60.6, 675MiB",
                            "one number is explained at a time",
                            [](const std::string& word) { return asked_number(word).has_value(); }});
}

void add_number_and_step(CLI::App& command, PlanOptions& options) {
  add_number(command, options);
  command.add_option("--step", options.step,
                     "where this step of a server spends its time: \"64 x decode behind 8k + prompt 2k behind 10k\"; "
                     "takes --gpu")
      ->type_name("STEP");
  add_served_options(command, options.clock);
}

void add_kernels(CLI::App& command, PlanOptions& options) { add_kernels_option(command, options.kernels); }

/// Of a command that was pasted; nothing where none was, or where several engines answer, each with its own settings.
std::optional<FlagEffects> effects_of_flags(const Scenario& scenario, const PlanOptions& options) {
  const std::vector<FlagLeftOut> flags = flags_left_out(options.scenario);
  if (flags.empty() || !options.scenario.engines.empty()) return std::nullopt;
  return flag_effects(scenario, flags);
}

int print_step(const PlanOptions& options, const Scenario& scenario, const Write& write) {
  if (!options.number.empty()) throw InputError("--step explains a step, and NUMBER a number; ask one of them");
  if (!scenario.simulate.clock.is_asked())
    throw InputError("--step takes its time on a GPU; say on which by --gpu NAME");
  write(render_step(step_answer(scenario, scenario.simulate.clock.served, read_step(options.step)),
                    options.output.format(), options.output.style()));
  return exit_fine;
}

int print_derivations(const Scenario& scenario, const PlanOptions& options, const Write& write) {
  if (!options.step.empty()) return print_step(options, scenario, write);
  // All are checked before anything is written.
  const PlanSet checked = plan_scenario(scenario, scenario.pack_sizes, PlanDetail::summary);
  const auto plan_at = [&](std::size_t i) { return plan_pack(scenario, i, PlanDetail::derived); };
  const ExplainSource source{checked.model,
                             checked.tensor_parallel,
                             checked.plans.size(),
                             scenario.model.parameters,
                             plan_at,
                             options.number.empty() ? std::nullopt : std::optional(read_asked_number(options.number)),
                             effects_of_flags(scenario, options)};
  write_explain(source, options.output.format(), options.output.style(), write);
  return exit_fine;
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
                       "  hybridkv plan --model Qwen3.5-4B --memory 20G --max-model-len 32k \\\n"
                       "      --kernels mine.card.json\n"
                       "  hybridkv plan my.yaml --format json | jq '.plans[0].views'",
                       add_kernels, print_plans);
}

void add_explain_command(CLI::App& app, CommandAction& action) {
  add_planning_command(app, action, "explain",
                       "Derive every number of a plan, or one of them, step by step, with the source of its rule",
                       "Examples:\n"
                       "  hybridkv explain qwen3.5-397b --pack 5\n"
                       "  hybridkv explain qwen3.5-397b 2096 --pack 1\n"
                       "  hybridkv explain 1,088 --memory 20G -- {command} Qwen/Qwen3.5-9B -tp 2 \\\n"
                       "      --max-model-len 32K --kv-cache-dtype fp8\n"
                       "  hybridkv explain my.yaml --pack 4 --format markdown\n"
                       "  hybridkv explain Qwen3.5-35B-A3B --max-model-len 32k --gpu H200 \\\n"
                       "      --step \"64 x decode behind 8k + prompt 2k behind 10k\"",
                       add_number_and_step, print_derivations);
}

}  // namespace hybridkv
