#include <fmt/format.h>

#include <memory>

#include "ask/start/doctor.h"
#include "base/error.h"
#include "base/input_file.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/offers.h"
#include "cli/output.h"
#include "cli/scenario_options.h"
#include "cli/values.h"
#include "engines/start_log.h"
#include "report/doctor_report.h"
#include "scenarios/flags_alone.h"

namespace hybridkv {

namespace {

struct DoctorOptions {
  std::string log;
  ScenarioOptions said;  ///< of the deployment; no scenario
  OutputOptions output;
};

int run_doctor(const DoctorOptions& options) {
  if (options.log == standard_input && options.said.model == standard_input)
    throw InputError("LOG and --model are both standard input, which can be read once; give one of them as a file");
  DoctorQuestion question{.log = read_startup_log(options.log),
                          .log_name = input_name(options.log),
                          .asked = flags_alone(),
                          .typed = {}};
  lay_over(question.asked, options.said);
  ScenarioOptions typed = options.said;
  typed.max_model_len.clear();  // commands to try have the length of the log
  question.typed = shell_words(typed);
  const DoctorAnswer answer = doctor(question);
  write_output(render_doctor(answer, options.output.format(), options.output.style()));
  return answer.contradictions.empty() ? exit_fine : exit_fault_found;
}

}  // namespace

void add_doctor_command(CLI::App& app, CommandAction& action) {
  CLI::App* command =
      app.add_subcommand("doctor", "Explain the figures of an engine's start-up log, and name those that cannot be");
  const auto options = std::make_shared<DoctorOptions>();
  const LogTexts& log = *all_log_texts().at(0);
  command
      ->add_option("LOG", options->log,
                   fmt::format("start-up log of {}, plain or compressed, or - for standard input", log.engine))
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
  add_output_options(*command, options->output);
  command->footer(fmt::format(
      "Examples:\n"
      "  hybridkv doctor server.log\n"
      "  hybridkv doctor server.log --model config.json --tp 2 --format json\n"
      "  {} 2>&1 | hybridkv doctor -\n"
      "\n"
      "Figures are compared to the last digit; the exit code is 1 where one cannot\n"
      "be. docs/doctor.md says what is read.", log.command));
  command->callback([options, &action] { action = [options] { return run_doctor(*options); }; });
}

}  // namespace hybridkv
