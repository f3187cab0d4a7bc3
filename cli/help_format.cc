#include "cli/help_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/text.h"

namespace hybridkv {

namespace {

constexpr std::size_t help_width = 80;
constexpr std::size_t text_column = 26;  // where explanations begin

/// "-f, --format FORMAT", and of a positional its name.
std::string label(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  std::string names;
  const auto add = [&](const char* dashes, const std::string& name) {
    names += (names.empty() ? "" : ", ") + (dashes + name);
  };
  for (const std::string& name : option.get_snames()) add("-", name);
  for (const std::string& name : option.get_lnames()) add("--", name);
  const std::string type = option.get_type_name();
  return type.empty() || option.get_type_size() == 0 ? names : names + " " + type;
}

std::string usage(const CLI::App& app) {
  std::string text = app.get_name();
  for (const CLI::App* above = app.get_parent(); above != nullptr; above = above->get_parent())
    text = above->get_name() + " " + text;
  if (!app.get_subcommands({}).empty()) return text + " COMMAND [...]";
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      const std::string name = option->get_name(true) + (option->get_items_expected_max() > 1 ? "..." : "");
      text += option->get_required() ? " " + name : " [" + name + "]";
    } else if (option->get_required()) {
      text += " " + label(*option);
    }
  }
  return text + " [flags]";
}

std::string commands(const CLI::App& app) {
  std::string text;
  for (const CLI::App* command : app.get_subcommands({}))
    text += help_entry(command->get_name(), command->get_description());
  return text.empty() ? text : "\nCommands:\n" + text;
}

/// Positionals, then the flags of each group in the order in which the groups begin.
std::string options(const CLI::App& app) {
  std::string positionals;
  std::vector<std::pair<std::string, std::string>> groups;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    const std::string text = help_entry(label(*option), option->get_description());
    if (option->get_positional()) {
      positionals += text;
      continue;
    }
    const std::string heading = option->get_group() == "Options" ? "Flags" : option->get_group();
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& known) { return known.first == heading; });
    if (group == groups.end()) group = groups.insert(groups.end(), {heading, ""});
    group->second += text;
  }
  std::string text = positionals.empty() ? positionals : "\nArguments:\n" + positionals;
  for (const auto& [heading, lines] : groups) text += fmt::format("\n{}:\n{}", heading, lines);
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
  text += fmt::format("\nUsage: {}\n{}{}", usage(*app), commands(*app), options(*app));
  if (!app->get_footer().empty()) text += "\n" + app->get_footer() + "\n";
  return text;
}

}  // namespace hybridkv
