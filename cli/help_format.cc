#include "cli/help_format.h"

#include <fmt/format.h>

#include <vector>

#include "cli/command_shape.h"
#include "report/text.h"

namespace hybridkv {

namespace {

constexpr std::size_t text_column = 26;  // where explanations begin

std::string commands(const CLI::App& app) {
  std::string text;
  for (const CLI::App* command : app.get_subcommands({}))
    text += help_entry(command->get_name(), command->get_description());
  return text.empty() ? text : "\nCommands:\n" + text;
}

std::string options(const CLI::App& app) {
  std::string text;
  for (const OptionGroup& group : option_groups(app)) {
    text += fmt::format("\n{}:\n", group.heading);
    for (const CLI::Option* option : group.options)
      text += help_entry(option_label(*option), option->get_description());
  }
  return text;
}

}  // namespace

void group_since(CLI::App& command, std::size_t first, const char* heading) {
  const std::vector<CLI::Option*> all = command.get_options();
  for (std::size_t i = first; i < all.size(); ++i) all[i]->group(heading);
}

std::string help_entry(const std::string& name, const std::string& text) {
  // The explanation begins in a line of its own where the name is long.
  std::string line = "  " + name;
  std::string lines;
  if (line.size() + 2 > text_column) {
    lines = line + "\n";
    line.clear();
  }
  for (const std::string& piece : wrap(text, help_width - text_column)) {
    lines += fmt::format("{:<{}}{}\n", line, text_column, piece);
    line.clear();
  }
  return text.empty() ? line + "\n" : lines;
}

std::string HelpFormat::make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const {
  std::string text;
  for (const std::string& line : wrap(app->get_description(), help_width)) text += line + "\n";
  text += fmt::format("\nUsage: {}\n{}{}", usage_line(*app), commands(*app), options(*app));
  if (!app->get_footer().empty()) text += "\n" + app->get_footer() + "\n";
  return text;
}

}  // namespace hybridkv
