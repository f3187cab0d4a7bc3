#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ask/start/doctor.h"
#include "base/error.h"
#include "base/input_file.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/offers.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/replay_progress.h"
#include "cli/scenario_options.h"
#include "cli/trace_options.h"
#include "cli/values.h"
#include "engines/start_log.h"
#include "report/doctor_report.h"
#include "scenarios/command_words.h"
#include "scenarios/flags_alone.h"

namespace hybridkv {

namespace {

constexpr const char* trace_flag = "--trace";

struct DoctorOptions {
  std::string log;
  ScenarioOptions said;  ///< of the deployment; no scenario
  OutputOptions output;
};

/// The flags of the requests as a shell takes them. Throws InputError where there are some and no requests.
std::string trace_words(const std::vector<FlagValue>& flags) {
  ScenarioOptions of_trace;
  of_trace.flags = flags;
  const CommandWords words = replayed_words(of_trace, {});
  if (!flags.empty() && !words.replays_with(trace_flag))
    throw InputError(fmt::format("{} goes with the requests to replay; give them by --trace FILE",
                                 words.replay.front().flag));
  const std::string text = replay_words(words);
  return text.empty() ? text : text.substr(1);  // without the blank before it
}

int run_doctor(const DoctorOptions& options) {
  if (options.log == standard_input && options.said.model == standard_input)
    throw InputError("LOG and --model are both standard input, which can be read once; give one of them as a file");
  if (options.log == standard_input && std::any_of(options.said.flags.begin(), options.said.flags.end(),
                                                   [](const FlagValue& flag) { return flag.shown == "--trace -"; }))
    throw InputError("LOG and --trace are both standard input, which can be read once; give one of them as a file");
  DoctorQuestion question{.log = read_startup_log(options.log),
                          .log_name = input_name(options.log),
                          .asked = flags_alone(),
                          .typed = {}};
  lay_over(question.asked, options.said);
  ScenarioOptions typed = options.said;
  typed.max_model_len.clear();  // commands to try have the length of the log
  typed.flags.clear();
  question.typed = shell_words(typed);
  question.trace_words = trace_words(options.said.flags);
  Progress progress(options.output.quiet);
  question.on_progress = shown_in(progress, "replay");
  const DoctorAnswer answer = doctor(question);
  write_output(render_doctor(answer, options.output.format(), options.output.style()));
  return answer.contradictions.empty() ? exit_fine : exit_fault_found;
}

}  // namespace

void add_doctor_command(CLI::App& app, CommandAction& action) {
  CLI::App* command =
      app.add_subcommand("doctor",
                         "Explain an engine's log: its figures, why requests hit or wait, and what cannot be");
  const auto options = std::make_shared<DoctorOptions>();
  const std::vector<const LogTexts*> logs = all_log_texts();
  std::vector<std::string_view> engines;
  for (const LogTexts* const log : logs) engines.push_back(log->engine);
  command
      ->add_option("LOG", options->log,
                   fmt::format("log of {}, plain or compressed, or - for standard input", fmt::join(engines, ", ")))
      ->type_name("")
      ->required();
  command
      ->add_option("--model", options->said.model,
                   "model by name or file, where the log names none that is known: a model file, a published "
                   "config.json or its folder")
      ->check(offers({{offered_models, offered_files}}))
      ->type_name("NAME");
  command->add_option("--tp", options->said.tensor_parallel, "tensor parallel ranks (default: the log's)")
      ->type_name("RANKS");
  command
      ->add_option("--max-model-len", options->said.max_model_len, "longest sequence in tokens (default: the log's)")
      ->transform(token_count())
      ->type_name("TOKENS");
  command->add_option("--mode", options->said.cache_mode, "none, align or all (default: the log's)")
      ->check(offers({{offered_words_of("engine.cache_mode")}}))
      ->type_name("MODE");
  command->add_option("--kv-dtype", options->said.kv_dtype, "element type of K and V (default: the log's)")
      ->check(offers({{offered_words_of("engine.kv_dtype")}}))
      ->type_name("DTYPE");
  command->add_option("--set", options->said.overrides, "a setting that the log does not say; may be repeated")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option_function<std::string>(
          trace_flag,
          [options](const std::string& path) {
            options->said.flags.push_back({"simulate.trace", fmt::format("{{file: {}}}", yaml_quoted(path)),
                                           fmt::format("{} {}", trace_flag, path)});
          },
          "the requests that the engine had: replayed under the settings of the log and under others")
      ->type_name("FILE");
  add_trace_file_options(*command, options->said);
  add_output_options(*command, options->output);
  command->footer(fmt::format(
      "Examples:\n"
      "  hybridkv doctor server.log\n"
      "  hybridkv doctor server.log --model config.json --tp 2 --format json\n"
      "  {} 2>&1 | hybridkv doctor -\n"
      "  curl -s localhost:8000/metrics | hybridkv doctor -\n"
      "  hybridkv doctor server.log --trace trace.jsonl\n"
      "\n"
      "Figures are compared to the last digit; the exit code is 1 where one cannot\n"
      "be. docs/doctor.md says what is read.", logs.front()->command));
  command->callback([options, &action] { action = [options] { return run_doctor(*options); }; });
}

}  // namespace hybridkv
