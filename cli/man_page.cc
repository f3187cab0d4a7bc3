#include "cli/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "base/build_info.h"
#include "cli/command_shape.h"

namespace hybridkv {

namespace {

/// A line of text as it is: roff takes backslashes for commands, '-' for a hyphen that cannot be copied as a minus, and
/// lines that begin with '.' or '\'' for requests.
std::string escaped(std::string_view text) {
  std::string roff;
  if (text.starts_with(".") || text.starts_with("'")) roff = "\\&";
  for (const char letter : text) {
    if (letter == '\\') roff += "\\e";
    else if (letter == '-') roff += "\\-";
    else if (letter == '\'') roff += "\\(aq";
    else if (letter == '`') roff += "\\(ga";
    else if (letter == '^') roff += "\\(ha";
    else if (letter == '~') roff += "\\(ti";
    else roff += letter;
  }
  return roff;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char letter) { return std::toupper(letter); });
  return text;
}

std::string section(const std::string& heading) { return fmt::format(".SH \"{}\"\n", escaped(upper(heading))); }

std::string entry(const std::string& name, const std::string& text) {
  return fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(name), escaped(text));
}

/// Lines that stay as they are written.
std::string as_written(const std::string& text) {
  std::string roff = ".nf\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) roff += escaped(line) + "\n";
  return roff + ".fi\n";
}

/// A footer holds examples, and perhaps explanations before them; of the program it explains alone.
std::string footer(const std::string& text) {
  const std::string mark = "Examples:\n";
  const std::size_t at = text.find(mark);
  std::string roff;
  std::string before = text.substr(0, at);
  before.erase(before.find_last_not_of('\n') + 1);
  if (!before.empty()) roff += section("Notes") + as_written(before);
  if (at != std::string::npos) roff += section("Examples") + as_written(text.substr(at + mark.size()));
  return roff;
}

std::string see_also(const CLI::App& app) {
  std::string names;
  const auto add = [&](const CLI::App& other) {
    names += fmt::format("{}.BR {} (1)", names.empty() ? "" : ",\n", escaped(man_page_name(other)));
  };
  if (app.get_parent() != nullptr) add(*app.get_parent());
  for (const CLI::App* command : app.get_subcommands({})) add(*command);
  return section("See also") + names + "\n";
}

}  // namespace

std::string man_page_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : app.get_parent()->get_name() + "-" + app.get_name();
}

std::string man_page(const CLI::App& app) {
  const std::string name = man_page_name(app);
  std::string roff = fmt::format(".TH {} 1 \"\" \"hybridkv {}\"\n", escaped(upper(name)), program_version());
  roff += section("Name") + fmt::format("{} \\- {}\n", escaped(name), escaped(app.get_description()));
  roff += section("Synopsis") + fmt::format(".B {}\n", escaped(usage_line(app)));
  if (!app.get_subcommands({}).empty()) roff += section("Commands");
  for (const CLI::App* command : app.get_subcommands({}))
    roff += entry(command->get_name(), command->get_description());
  for (const OptionGroup& group : option_groups(app)) {
    roff += section(group.heading);
    for (const CLI::Option* option : group.options) roff += entry(option_label(*option), option->get_description());
  }
  return roff + footer(app.get_footer()) + see_also(app);
}

}  // namespace hybridkv
