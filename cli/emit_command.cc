#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <list>
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
  std::list<OutputFolder> made;  // what was made last goes first where nothing is written
  made.emplace_front(folder);
  for (const EmittedFile& file : files) made.emplace_front((folder / file.path).parent_path());
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
  const bool to_output = options.output.empty() || options.output == "-";
  const bool alone = to_output || options.output.ends_with(".py");
  const std::vector<EmittedFile> files =
      emit(options.kind, scenario, printable(typed_command(*options.scenario.command)),
           alone ? EmitParts::module : EmitParts::package);
  if (to_output) {
    write_output(files.front().text);
    return exit_fine;
  }
  const Replaces replaces{options.overwrite, inputs_of(scenario)};
  if (alone) {
    refuse_overwriting(options.output, replaces);
    write_file(options.output, files.front().text);
    write_output(fmt::format("{}: the plug-in alone; its entry point is register\n", printable(options.output)));
    return exit_fine;
  }
  write_files(files, options.output, replaces);
  std::vector<std::string> names;
  for (const EmittedFile& file : files) {
    const fs::path path(file.path);
    std::string name = path.has_parent_path() ? path.begin()->string() + "/" : file.path;
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
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
      "needs the engine and no GPU, cases of attention through the plan's views as\n"
      "NumPy files for that test or another, and what a kernel must do\n"
      "(docs/packing.md). What differs from the plan ends the start with the number\n"
      "that differs.\n"
      "\nExamples:\n"
      "  hybridkv emit {0} --model Qwen3.5-397B-A17B --tp 2 --pack 5 \\\n"
      "      --memory 40GiB --max-model-len 32k -o packed\n"
      "  hybridkv emit {0} --model Qwen3.5-4B --memory 20GiB \\\n"
      "      --max-model-len 32k --pack 2 | less",
      kinds.front()));
  command->callback([options, &action] { action = [options] { return run_emit(*options); }; });
}

}  // namespace hybridkv
