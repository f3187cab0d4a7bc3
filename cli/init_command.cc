#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "base/output_file.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "cli/engine_words.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/scenario_options.h"
#include "scenarios/scenario_text.h"
#include "scenarios/sweep_axes.h"

namespace hybridkv {

namespace {

struct InitFlags {
  ScenarioOptions scenario;
  std::string output;
  Overwrite overwrite = Overwrite::no;
};

/// Of a file that sweeps, every value of which is checked, with the first value of each axis.
Scenario first_scenario(const ScenarioFile& file) {
  const ScenarioSweep sweep(file);
  std::vector<AxisChoice> first;
  for (const SweepAxis& axis : sweep.axes()) first.push_back({axis.path, 0});
  return read_scenario(with_values(file, first));
}

int run_init(const InitFlags& options) {
  const bool to_file = !options.output.empty() && options.output != "-";
  const ScenarioFile file = scenario_file(options.scenario);
  const Scenario scenario = first_scenario(file);  // what cannot be read is no scenario to begin with
  if (to_file) refuse_overwriting(options.output, {options.overwrite, inputs_of(scenario)});
  show_notes(scenario.notes);
  const std::string folder = to_file ? std::filesystem::path(options.output).parent_path().string() : "";
  const std::string text = "# Made by `" + printable(typed_command(*options.scenario.command)) + "`.\n"
                           "# Every key that may stand here: scenarios/example.yaml.\n" +
                           scenario_text(file, folder);
  if (!to_file) {
    write_output(text);
    return exit_fine;
  }
  write_file(options.output, text);
  write_output(fmt::format("{}: a scenario of {}\n", printable(options.output), printable(scenario.model.name)));
  return exit_fine;
}

}  // namespace

void add_init_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand("init", "Write the scenario file that the given flags mean");
  const auto options = std::make_shared<InitFlags>();
  add_scenario_options(*command, options->scenario);
  command->add_option("--output,-o", options->output, "scenario to write (default: standard output)")
      ->type_name("FILE");
  add_force_option(*command, options->overwrite);
  command->footer(with_engines(
      "Examples:\n"
      "  hybridkv init Qwen3.5-4B --memory 20G --max-model-len 32k -o new.yaml\n"
      "  hybridkv init qwen3.5-397b --engine {today} --pack 1 --tp 4\n"
      "  hybridkv init --memory 20G -o our.yaml -- {command} Qwen/Qwen3.5-9B -tp 2 \\\n"
      "      --max-model-len 32K --kv-cache-dtype fp8\n"
      "  hybridkv plan new.yaml\n"
      "The file says what the flags say, and nothing that they leave to a default."));
  command->callback([options, &action] { action = [options] { return run_init(*options); }; });
}

}  // namespace hybridkv
