#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/output_file.h"
#include "base/output_folder.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/man_page.h"
#include "cli/offers.h"
#include "cli/output.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

namespace {

struct ManOptions {
  std::string command;
  std::string folder;
  Overwrite overwrite = Overwrite::no;
};

/// The program, or the command of that name.
const CLI::App& subject(const CLI::App& app, const std::string& name) {
  if (name.empty()) return app;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return *command;
    names.push_back(command->get_name());
  }
  throw InputError(fmt::format("man: there is no command {}{}", in_quotes(name), suggestion(name, names, "commands:")));
}

std::filesystem::path page_file(const ManOptions& options, const CLI::App& app) {
  return std::filesystem::path(options.folder) / (man_page_name(app) + ".1");
}

int run_man(const CLI::App& app, const ManOptions& options) {
  const CLI::App& chosen = subject(app, options.command);
  if (options.folder.empty()) {
    write_output(man_page(chosen));
    return exit_fine;
  }
  const OutputFolder folder(options.folder);
  std::vector<const CLI::App*> explained{&chosen};
  for (const CLI::App* command : chosen.get_subcommands({})) explained.push_back(command);
  for (const CLI::App* one : explained) refuse_overwriting(page_file(options, *one), {options.overwrite, {}});
  for (const CLI::App* one : explained) write_file(page_file(options, *one), man_page(*one));
  return exit_fine;
}

}  // namespace

void add_man_command(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand("man", "Print the manual page of hybridkv or of a command, for man to show");
  const auto options = std::make_shared<ManOptions>();
  command->add_option("COMMAND", options->command, "command to explain (default: the program)")
      ->check(offers({{offered_commands}}))
      ->type_name("");
  command
      ->add_option("--output,-o", options->folder,
                   "write files into this folder instead, of the program with those of all commands")
      ->type_name("DIR");
  add_force_option(*command, options->overwrite);
  command->footer(
      "Examples:\n"
      "  hybridkv man plan | man -l -\n"
      "  hybridkv man --output man1\n"
      "`cmake --install` puts all of them where man finds them: man hybridkv-plan.");
  command->callback([options, &app, &action] { action = [options, &app] { return run_man(app, *options); }; });
}

}  // namespace hybridkv
