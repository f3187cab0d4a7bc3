#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>

#include "ask/emit.h"
#include "base/output_file.h"
#include "base/output_folder.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/scenario_options.h"

namespace hybridkv {

namespace {

namespace fs = std::filesystem;

struct EmitOptions {
  std::string kind;
  ScenarioOptions scenario;
  std::string output;
  Overwrite overwrite = Overwrite::no;
};

/// All files appear, or none.
void write_files(const std::vector<EmittedFile>& files, const fs::path& folder, const Replaces& replaces) {
  const OutputFolder made(folder);
  for (const EmittedFile& file : files) refuse_overwriting(folder / file.path, replaces);
  std::vector<OutputFile> written;
  for (const EmittedFile& file : files) {
    OutputFile& one = written.emplace_back(folder / file.path);
    one.append(file.text);
    one.complete();
  }
  for (OutputFile& one : written) one.finish();
}

int run_emit(const EmitOptions& options) {
  const Scenario scenario = read_scenario(options.scenario);
  const std::vector<EmittedFile> files =
      emit(options.kind, scenario, printable(typed_command(*options.scenario.command)));
  if (options.output.empty() || options.output == "-") {
    write_output(files.front().text);
    return exit_fine;
  }
  const Replaces replaces{options.overwrite, inputs_of(scenario)};
  if (options.output.ends_with(".py")) {
    refuse_overwriting(options.output, replaces);
    write_file(options.output, files.front().text);
    write_output(fmt::format("{}: the plug-in alone; its entry point is register\n", printable(options.output)));
    return exit_fine;
  }
  write_files(files, options.output, replaces);
  std::vector<std::string> names;
  for (const EmittedFile& file : files) names.push_back(file.path);
  write_output(fmt::format("{}: {}\nInstall it beside the engine: pip install {}\n", printable(options.output),
                           fmt::join(names, ", "), printable(options.output)));
  return exit_fine;
}

}  // namespace

void add_emit_command(CLI::App& app, CommandAction& action) {
  const std::vector<std::string> kinds = emitted_kinds();
  CLI::App* command = app.add_subcommand("emit", "Write a plug-in by which an engine makes a plan");
  const auto options = std::make_shared<EmitOptions>();
  command->add_option("KIND", options->kind, fmt::format("what to write: {}", fmt::join(kinds, ", ")))
      ->required();
  add_scenario_options(*command, options->scenario);
  describe_one_pack(*command);
  command
      ->add_option("--output,-o", options->output,
                   "folder for a package, or FILE.py for its module alone (default: the module to standard output)")
      ->type_name("PATH");
  add_force_option(*command, options->overwrite);
  command->footer(fmt::format(
      "A package with an entry point that the engine loads as it starts, a test that\n"
      "needs the engine and no GPU, and what a kernel must do (docs/packing.md). What\n"
      "differs from the plan ends the start with the number that differs.\n"
      "\nExamples:\n"
      "  hybridkv emit {0} --model Qwen3.5-397B-A17B --tp 2 --pack 5 \\\n"
      "      --memory 40GiB --max-model-len 32k -o packed\n"
      "  hybridkv emit {0} --model Qwen3.5-4B --memory 20GiB \\\n"
      "      --max-model-len 32k --pack 2 | less",
      kinds.front()));
  command->callback([options, &action] { action = [options] { return run_emit(*options); }; });
}

}  // namespace hybridkv
