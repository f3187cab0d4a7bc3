#include <memory>

#include "ask/replay/trace.h"
#include "base/error.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/scenario_options.h"
#include "cli/trace_options.h"
#include "cli/values.h"
#include "report/replay/trace_report.h"

namespace hybridkv {

namespace {

struct TraceOptions {
  std::string file;
  ScenarioOptions scenario;
  OutputOptions output;
};

/// The scenario whose bytes of a token are asked for, and the trace either way.
int run_trace(const TraceOptions& options) {
  ScenarioOptions asked = options.scenario;
  asked.flags.insert(asked.flags.begin(),
                     {"simulate.trace", "{file: " + yaml_quoted(options.file) + "}", "FILE " + options.file});
  const bool planned = !asked.scenario.empty() || !asked.model.empty();
  if (const auto given = given_flags(asked); !planned && !given.empty())
    throw InputError(given.front().first + " belongs to a model; name one behind the file, as in hybridkv trace FILE "
                     "qwen3.5-397b");
  const Scenario scenario = planned ? read_scenario(asked) : read_simulate_section(asked);
  const TraceAnswer answer = describe_trace(scenario.simulate.trace, planned ? &scenario : nullptr);
  write_output(render_trace(answer, options.output.format(), options.output.style()));
  return exit_fine;
}

}  // namespace

void add_trace_command(CLI::App& app, CommandAction& action) {
  CLI::App* command =
      app.add_subcommand("trace", "Say what is in a trace: lengths, what repeats, when it returns, sessions");
  const auto options = std::make_shared<TraceOptions>();
  command->add_option("FILE", options->file, "trace, also .gz or .zst, - for standard input")
      ->required()
      ->type_name("");
  add_scenario_options(*command, options->scenario);
  add_trace_file_options(*command, options->scenario);
  add_key(*command, options->scenario, "--requests", "N",
          "only the first ones (default: all)");
  add_output_options(*command, options->output);
  command->footer(
      "A scenario or model behind the file says what distances are in bytes.\n"
      "Forms of traces and their fields: docs/traces.md.\n"
      "\nExamples:\n"
      "  hybridkv trace trace.jsonl\n"
      "  hybridkv trace trace.jsonl qwen3.5-397b\n"
      "  zcat logs.jsonl.gz | hybridkv trace - --trace-form lookups\n"
      "  hybridkv trace trace.jsonl --format json | jq '.repeated_rate'");
  command->callback([options, &action] { action = [options] { return run_trace(*options); }; });
}

}  // namespace hybridkv
