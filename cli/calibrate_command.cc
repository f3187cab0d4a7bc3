#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ask/clock/calibrate.h"
#include "ask/clock/clock_score.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/printable.h"
#include "cli/clock_options.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/scenario_options.h"
#include "cli/trace_options.h"
#include "report/calibrate_report.h"
#include "scenarios/number.h"

namespace hybridkv {

namespace {

struct CalibrateOptions {
  ScenarioOptions scenario;
  ClockOptions clock;
  std::vector<std::string> benches, forwards, logs;
  std::string rows, models, recipes;
  bool fit = false, unseen = false;
  std::string output_file;
  Overwrite overwrite = Overwrite::no;
  OutputOptions output;
};

void write_clock(const CalibrateOptions& options, const ClockFile& clock, const std::vector<std::string>& inputs) {
  refuse_overwriting(options.output_file, {options.overwrite, inputs});
  write_file(options.output_file, clock_text(clock));
}

double chance_of(const FlagValue& flag) {
  const ParsedReal chance = parse_real(flag.value);
  if (!chance.problem.empty() || chance.value > 1)
    throw InputError(fmt::format("{}: is a chance from 0 to 1", flag.shown));
  return chance.value;
}

/// What is about one deployment: a table of measured runs says it of each of its own.
void refuse_deployment(const CLI::App& command) {
  static const std::set<std::string> of_rows{"rows",       "models", "recipes", "fit",  "unseen",
                                             "acceptance", "format", "color",   "quiet"};
  for (const CLI::Option* const option : command.get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    if (option->count() > 0 && (names.empty() || !of_rows.contains(names.front())))
      throw InputError(fmt::format("{}: the runs of a table have deployments of their own; leave it out, or --rows",
                                   option->get_name()));
  }
}

int run_rows(const CalibrateOptions& options) {
  refuse_deployment(*options.scenario.command);
  if (options.models.empty())
    throw InputError("--rows: what the models of the table compute is said by --models FILE (docs/clock.md)");
  RowFiles files{.rows = options.rows,
                 .models = options.models,
                 .recipes = options.recipes.empty() ? std::nullopt : std::optional(options.recipes)};
  if (const FlagValue* const chance = flag_of(options.scenario, "simulate.acceptance"))
    files.acceptance = chance_of(*chance);
  const std::vector<MeasuredRow> rows = read_measured_rows(files);
  if (!options.fit) {
    const std::vector<ClockScore> scores = options.unseen ? score_unseen(rows) : score_clocks(rows);
    if (options.unseen && scores.empty())
      throw InputError("--unseen: no engine has clean rows of two models or GPUs, so that a fit could leave one out; "
                       "score the rows without it");
    if (scores.empty())
      throw InputError("--rows: no row counts; one does whose flag is empty and whose mode is aggregated, or p/d with "
                       "prefill_workers and decode_workers (docs/clock.md)");
    const auto render = options.unseen ? render_unseen_score : render_clock_score;
    write_output(render(scores, options.output.format(), options.output.style()));
    return exit_fine;
  }
  std::string text;
  for (const ClockFile& clock : fit_clocks(rows)) text += clock_text(clock);
  write_output(text);
  return exit_fine;
}

int run_calibrate(const CalibrateOptions& options) {
  if (!options.rows.empty()) return run_rows(options);
  for (const auto& [flag, given] : {std::pair{"--fit", options.fit},
                                    {"--unseen", options.unseen},
                                    {"--models", !options.models.empty()},
                                    {"--recipes", !options.recipes.empty()}})
    if (given) throw InputError(fmt::format("{} belongs to a table of measured runs; give it by --rows FILE", flag));
  CalibrateQuestion question{.scenario = read_scenario_on(options.scenario, options.clock),
                             .benches = options.benches,
                             .forwards = options.forwards,
                             .logs = options.logs};
  if (!question.scenario.simulate.clock.is_asked())
    throw InputError("say on what the model is served by --gpu NAME, or give a table of runs by --rows FILE");
  if (!options.output_file.empty() && !question.has_files())
    throw InputError("--output: there is nothing to calibrate by; give load tests by --bench FILE, steps by "
                     "--forward FILE, or what the engine printed by --log FILE");
  const CalibrateAnswer answer = calibrate(question);
  if (!options.output_file.empty()) {
    std::vector<std::string> inputs = inputs_of(question.scenario);
    for (const std::vector<std::string>* files : {&options.benches, &options.forwards, &options.logs})
      inputs.insert(inputs.end(), files->begin(), files->end());
    write_clock(options, answer.served.source, inputs);
  }
  write_output(render_calibrate(answer, options.output.format(), options.output.style()));
  return exit_fine;
}

}  // namespace

void add_calibrate_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand("calibrate", "Move the clock of an engine to a deployment by two load tests");
  const auto options = std::make_shared<CalibrateOptions>();
  add_scenario_options(*command, options->scenario);
  add_served_options(*command, options->clock);
  add_acceptance_option(*command, options->scenario);
  command
      ->add_option("--bench", options->benches, "result of a load test of the server, JSON; may be repeated")
      ->type_name("FILE");
  command
      ->add_option("--forward", options->forwards,
                   "result of the engine's benchmark of forward passes over simulate --shapes; may be repeated")
      ->type_name("FILE");
  command
      ->add_option("--log", options->logs,
                   "what the engine printed while requests generated, - for standard input; may be repeated")
      ->type_name("FILE");
  command->add_option("--output,-o", options->output_file, "the clock, for --clock of other commands")
      ->type_name("FILE");
  add_force_option(*command, options->overwrite);
  command->add_option("--rows", options->rows, "CSV of measured runs, to score the clocks of engines by")
      ->type_name("FILE");
  command->add_option("--models", options->models, "CSV of what the models of --rows compute")->type_name("FILE");
  command->add_option("--recipes", options->recipes, "CSV of the settings that their engines had")->type_name("FILE");
  command->add_flag("--fit", options->fit, "fit the clocks to --rows anew, and print them");
  command->add_flag("--unseen", options->unseen,
                    "score fits to --rows on what they leave out: each model in turn, and each GPU")
      ->excludes("--fit");
  add_output_options(*command, options->output);
  command->footer(
      "Without a load test it says which two to run, and how far the clock of the\n"
      "engine is to be trusted without them (docs/clock.md).\n"
      "\nExamples:\n"
      "  hybridkv calibrate Qwen3.5-35B-A3B --gpu H200 --max-model-len 32k\n"
      "  hybridkv calibrate Qwen3.5-35B-A3B --gpu H200 --max-model-len 32k \\\n"
      "      --bench short.json --bench long.json -o clock.json\n"
      "  hybridkv calibrate Qwen3.5-35B-A3B --gpu H200 --max-model-len 32k \\\n"
      "      --forward forward.json -o by-steps.json\n"
      "  hybridkv calibrate Qwen3.5-35B-A3B --gpu H200 --max-model-len 32k \\\n"
      "      --log decoding.log -o by-log.json\n"
      "  hybridkv calibrate --rows measured.csv --models models.csv");
  command->callback([options, &action] { action = [options] { return run_calibrate(*options); }; });
}

}  // namespace hybridkv
