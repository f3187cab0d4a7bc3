#include <fmt/format.h>

#include <memory>

#include "ask/replay/trace.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/shell_word.h"
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
  bool made_up = false;
  std::string written;  ///< file for the requests of a made-up trace; empty: none
  Overwrite overwrite = Overwrite::no;
  ScenarioOptions scenario;
  OutputOptions output;
};

/// The scenario with the trace that is asked for. Behind --made-up the first word is the scenario.
ScenarioOptions asked_trace(const TraceOptions& options) {
  ScenarioOptions asked = options.scenario;
  if (!options.made_up) {
    if (options.file.empty())
      throw InputError("no trace is named: give a FILE, - for standard input, or --made-up for one that is generated");
    if (!options.written.empty())
      throw InputError(fmt::format("-o {} is for a trace that is made up; FILE {} is one already", options.written,
                                   options.file));
    asked.flags.insert(asked.flags.begin(),
                       {"simulate.trace", "{file: " + yaml_quoted(options.file) + "}", "FILE " + options.file});
    return asked;
  }
  if (!asked.scenario.empty())
    throw InputError(fmt::format("--made-up takes the place of FILE; give either it or {}", shell_word(options.file)));
  asked.scenario = options.file;
  return asked;
}

/// Writes the requests of a made-up trace; false where they went to standard output, which has room for nothing else.
bool write_requests(const TraceOptions& options, const Scenario& scenario) {
  const TraceSpec& trace = scenario.simulate.trace;
  if (options.written == "-") {
    write_trace(trace, [](const std::string& lines) { write_output_piece(lines); });
    return false;
  }
  refuse_overwriting(options.written, {options.overwrite, inputs_of(scenario)});
  OutputFile file(options.written);
  write_trace(trace, [&](const std::string& lines) { file.append(lines); });
  file.finish();
  return true;
}

/// The scenario whose bytes of a token are asked for, and the trace either way.
int run_trace(const TraceOptions& options) {
  const ScenarioOptions asked = asked_trace(options);
  const bool planned = !asked.scenario.empty() || !asked.model.empty();
  if (const auto given = given_flags(asked); !planned && !given.empty())
    throw InputError(given.front().first + " belongs to a model; name one behind the file, as in hybridkv trace FILE "
                     "qwen3.5-397b");
  const Scenario scenario = planned ? read_scenario(asked) : read_simulate_section(asked);
  const TraceSpec& trace = scenario.simulate.trace;
  if (options.made_up && (!trace.file.empty() || !trace.prompts.empty()))
    throw InputError(fmt::format("--made-up: the scenario names {}; take it back by --set simulate.trace=null",
                                 describe(trace)));
  if (!options.written.empty() && !write_requests(options, scenario)) return exit_fine;
  const TraceAnswer answer = describe_trace(trace, planned ? &scenario : nullptr);
  write_output(render_trace(answer, options.output.format(), options.output.style()));
  return exit_fine;
}

}  // namespace

void add_trace_command(CLI::App& app, CommandAction& action) {
  CLI::App* command =
      app.add_subcommand("trace", "Say what is in a trace: lengths, what repeats, when it returns, sessions");
  const auto options = std::make_shared<TraceOptions>();
  command->add_option("FILE", options->file, "trace, also .gz or .zst, - for standard input")
      ->type_name("");
  add_scenario_options(*command, options->scenario);
  add_trace_file_options(*command, options->scenario);
  add_key(*command, options->scenario, "--requests", "N",
          "only the first ones (default: all, of a made-up one 10000)");
  command->add_flag("--made-up", options->made_up,
                    "in place of FILE a trace of chats, agents and documents that is generated");
  add_key(*command, options->scenario, "--seed", "SEED", "of the made-up trace (default: 1)");
  command->add_option("--output,-o", options->written, "write the requests of the made-up trace, - for standard output")
      ->type_name("FILE");
  add_force_option(*command, options->overwrite);
  add_output_options(*command, options->output);
  command->footer(
      "A scenario or model behind the file says what distances are in bytes.\n"
      "Forms of traces and their fields: docs/traces.md.\n"
      "\nExamples:\n"
      "  hybridkv trace trace.jsonl\n"
      "  hybridkv trace trace.jsonl qwen3.5-397b\n"
      "  zcat logs.jsonl.gz | hybridkv trace - --trace-form lookups\n"
      "  hybridkv trace trace.jsonl --format json | jq '.repeated_rate'\n"
      "  hybridkv trace --made-up --requests 500 --seed 7 -o made-up.jsonl");
  command->callback([options, &action] { action = [options] { return run_trace(*options); }; });
}

}  // namespace hybridkv
