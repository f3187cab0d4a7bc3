#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "ask/compare/compare.h"
#include "base/error.h"
#include "cli/commands.h"
#include "cli/engine_words.h"
#include "cli/engines.h"
#include "cli/exit_codes.h"
#include "cli/help_format.h"
#include "cli/kernel_options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/replay_progress.h"
#include "cli/scenario_options.h"
#include "cli/trace_options.h"
#include "planner/engine_rules.h"
#include "report/compare_report.h"

namespace hybridkv {

namespace {

struct CompareOptions {
  std::vector<std::string> scenarios;
  ScenarioOptions scenario;
  OutputOptions output;
  std::vector<std::string> vary;
  std::vector<std::string> zips;
  std::vector<std::string> kernels;  ///< files of their cards
  SimpleTraffic traffic;
  bool brief = false;
};

/// The replay's flags are keys of the section simulate.
bool asks_for_replay(const CompareOptions& options) {
  return std::any_of(options.scenario.flags.begin(), options.scenario.flags.end(),
                     [](const FlagValue& flag) { return flag.key.starts_with("simulate."); });
}

/// The keys that the flags of this command vary.
std::vector<FlagValue> varied_keys(const CompareOptions& options) {
  std::vector<FlagValue> varied;
  const auto add = [&](FlagValue value) {
    const auto same = std::find_if(varied.begin(), varied.end(),
                                   [&](const FlagValue& known) { return known.key == value.key; });
    if (same != varied.end())
      throw InputError(fmt::format("{}: {} gives values of {} already; write all of them in one list", value.shown,
                                   same->shown, value.key));
    varied.push_back(std::move(value));
  };
  if (const std::string& engines = options.scenario.release; !engines.empty()) {
    FlagValue releases = varied_values("--engine", "engine.release=" + engines);
    releases.shown = "--engine " + engines;
    add(std::move(releases));
  }
  if (!options.scenario.engines.empty()) add(varied_releases(options.scenario.engines));
  for (const std::string& assignment : options.vary) add(varied_values("--vary", assignment));
  return varied;
}

std::vector<ScenarioFile> files_of(const CompareOptions& options, const std::vector<FlagValue>& varied) {
  std::vector<std::string> names = options.scenarios;
  if (names.empty()) names.emplace_back();  // built from the flags alone
  std::vector<ScenarioFile> files;
  for (const std::string& name : names) {
    ScenarioOptions one = options.scenario;
    one.scenario = name;
    one.flags.insert(one.flags.end(), varied.begin(), varied.end());
    files.push_back(scenario_file(one));
  }
  return files;
}

int run_compare_command(const CompareOptions& options) {
  const std::vector<KernelCard> cards = read_kernel_cards(options.kernels);
  const std::vector<FlagValue> varied = varied_keys(options);
  std::vector<std::string> keys;
  for (const FlagValue& value : varied) keys.push_back(value.key);
  const std::vector<CompareSetting> settings =
      compare_settings(files_of(options, varied), keys, fewest_settings, zipped_keys(options.zips));
  show_notes(settings);
  for (const CompareSetting& setting : settings)
    if (asks_for_replay(options) && setting.scenario.simulate.trace.file == "-")
      throw InputError("--trace -: standard input can be read once, and every setting replays the trace; give a file");
  Progress progress(options.output.quiet);
  CompareReplay replay{.wanted = asks_for_replay(options)};
  replay.on_progress = shown_in(progress, "replay");
  const CompareAnswer answer = compare(settings, replay, cards);
  write_output(render_compare(answer, options.output.format(), options.output.style(),
                              options.brief ? CompareRules::hidden : CompareRules::shown));
  return std::any_of(answer.settings.begin(), answer.settings.end(),
                     [](const ComparedSetting& setting) { return corrupts_kernel(setting.kernels); })
             ? exit_fault_found
             : exit_fine;
}

}  // namespace

void add_compare_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "compare", "Put two to eight settings side by side, with the rule that makes each difference");
  const auto options = std::make_shared<CompareOptions>();
  command
      ->add_option("SCENARIO", options->scenarios,
                   "scenario files, - for standard input, names of those that come with hybridkv (qwen3.5-397b, "
                   "example), or models as --model takes them")
      ->type_name("");
  command
      ->add_option("--vary", options->vary,
                   "one setting for each of these values; may be repeated: every combination")
      ->type_name("KEY=VALUES")
      ->take_all()
      ->allow_extra_args(false);
  add_zip_option(*command, options->zips);
  add_scenario_flags(*command, options->scenario);
  add_engines_option(*command, options->scenario);
  add_replayed_trace(*command, options->scenario, options->traffic);
  add_kernels_option(*command, options->kernels);
  command->add_flag("--brief", options->brief, "the table alone, without the rules that make it differ");
  add_output_options(*command, options->output);
  command->footer(with_engines(
      "Values: 1,2,4 or 1..4 or '[null, 256]', where null is the default. Lists in a\n"
      "scenario, of --pack and of all other flags make settings too; --set holds for\n"
      "all. Several lengths are one question, compared at the longest. With a trace,\n"
      "or --requests of a made-up one, every setting replays it.\n"
      "What differs is marked with *. A setting that is refused is a column that says\n"
      "so; only where all are refused the exit code is 2. It is 1 where a kernel of\n"
      "--kernels would silently corrupt the cache of any setting.\n"
      "\nExamples:\n"
      "  hybridkv compare qwen3.5-397b --pack 1 --engine {packs},{today}\n"
      "  hybridkv compare qwen3.5-397b --pack 1 --engines all --trace trace.jsonl\n"
      "  hybridkv compare qwen3.5-397b --pack 1,3,5,15\n"
      "  hybridkv compare --model Qwen3.5-4B,Qwen3.5-9B --memory 40G \\\n"
      "      --max-model-len 32k\n"
      "  hybridkv compare qwen3.5-397b --pack 3 --vary engine.kv_dtype=bf16,fp8\n"
      "  hybridkv compare qwen3.5-397b --pack 1,5 --kernels mine.card.json\n"
      "  hybridkv compare example my.yaml --format json | jq '.rows[].name'"));
  command->callback([options, &action] {
    action = [options] {
      apply_simple_traffic(options->scenario, options->traffic);
      return run_compare_command(*options);
    };
  });
}

}  // namespace hybridkv
