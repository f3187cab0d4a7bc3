#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ask/plot/replay_curves.h"
#include "ask/replay/bound.h"
#include "base/error.h"
#include "cli/clock_options.h"
#include "cli/commands.h"
#include "cli/engine_words.h"
#include "cli/engines.h"
#include "cli/exit_codes.h"
#include "cli/help_format.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/scenario_options.h"
#include "cli/trace_options.h"
#include "cli/values.h"
#include "report/replay/bound_report.h"

namespace hybridkv {

namespace {

struct BoundOptions {
  ScenarioOptions scenario;
  SimpleTraffic traffic;
  OutputOptions output;
  ClockOptions clock;
};

/// Without a memory that is said each cache has what the GPU leaves it, as in a replay.
std::vector<CompareSetting> settings_on(const ScenarioOptions& options, const std::optional<TimedQuestion>& timed) {
  if (!timed || says_memory(options)) return any_settings(options);
  std::vector<CompareSetting> settings = any_settings(with_all_memory(options, *timed));
  for (CompareSetting& setting : settings) leave_to_weights(setting.scenario, *timed);
  return settings;
}

int run_bound(const BoundOptions& options) {
  const std::optional<TimedQuestion> timed = timed_question(options.clock);
  if (rates_of(options.clock).size() > 1) throw InputError("--rate: a bound is of one rate; give one factor");
  const std::vector<CompareSetting> settings = settings_on(options.scenario, timed);
  const auto has_fleet = [](const CompareSetting& setting) { return setting.scenario.simulate.fleet.replicas > 1; };
  if (timed && std::any_of(settings.begin(), settings.end(), has_fleet))
    throw InputError("--gpu bounds the first token of one cache, --replicas what several find; leave --gpu out, or "
                     "give --replicas 1");
  const TraceSpec& trace = settings.front().scenario.simulate.trace;
  if (trace.file == "-")
    throw InputError("--trace -: standard input can be read once, and a bound reads the trace twice; give a file");
  std::vector<BoundAnswer> answers;
  {
    Progress progress(options.output.quiet);
    const auto at = [&](int done, int total) { progress.update("bound", "layouts", done, total); };
    answers = bounds(settings, at, timed);
  }
  write_output(render_bound(answers, trace_text(trace), options.output.format(), options.output.style()));
  return exit_fine;
}

}  // namespace

void add_bound_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "bound", "Say how much of a trace any policy could find in this memory, and how much is found");
  const auto options = std::make_shared<BoundOptions>();
  add_scenario_options(*command, options->scenario);
  describe_one_length(*command);
  add_engines_option(*command, options->scenario);
  add_trace_options(*command, options->scenario, options->traffic);
  add_key(*command, options->scenario, "--requests", "N",
          "only the first ones (default: all, of a made-up trace 10000, of simple traffic 300)");
  add_key(*command, options->scenario, "--replicas", "simulate.fleet.replicas", "R",
          "of so many caches together, whatever routes between them");
  const std::size_t first = command->get_options().size();
  add_served_options(*command, options->clock);
  command->add_option("--rate", options->clock.rate, "requests come so many times as fast: 2x")->type_name("FACTOR");
  group_since(*command, first, "By the clock: the least mean first token (docs/clock.md)");
  add_output_options(*command, options->output);
  command->footer(with_engines(
      "Lists, say of --pack, --memory or --engines, make a row each, at most eight.\n"
      "\nExamples:\n"
      "  hybridkv bound qwen3.5-397b --pack 1,5,15\n"
      "  hybridkv bound qwen3.5-397b --pack 5 --memory 40G,80G,160G --trace trace.jsonl\n"
      "  hybridkv bound qwen3.5-397b --pack 1 --engines {today},{tree}\n"
      "  hybridkv bound qwen3.5-397b --pack 1 --replicas 8\n"
      "  hybridkv bound Qwen3.5-35B-A3B --max-model-len 128k --gpu H200 --requests 500\n"
      "  hybridkv bound qwen3.5-397b --format json | jq '.layouts[0].upper_rate'"));
  command->callback([options, &action] {
    action = [options] {
      apply_simple_traffic(options->scenario, options->traffic);
      return run_bound(*options);
    };
  });
}

}  // namespace hybridkv
