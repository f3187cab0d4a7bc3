#include "cli/command_shape.h"

#include <algorithm>

namespace hybridkv {

std::string option_label(const CLI::Option& option) {
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

std::string usage_line(const CLI::App& app) {
  std::string text = app.get_name();
  for (const CLI::App* above = app.get_parent(); above != nullptr; above = above->get_parent())
    text = above->get_name() + " " + text;
  if (!app.get_subcommands({}).empty()) return text + " COMMAND [...]";
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      const std::string name = option->get_name(true) + (option->get_items_expected_max() > 1 ? "..." : "");
      text += option->get_required() ? " " + name : " [" + name + "]";
    } else if (option->get_required()) {
      text += " " + option_label(*option);
    }
  }
  return text + " [flags]";
}

std::vector<OptionGroup> option_groups(const CLI::App& app) {
  OptionGroup positionals{"Arguments", {}};
  std::vector<OptionGroup> groups;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (option->get_positional()) {
      positionals.options.push_back(option);
      continue;
    }
    const std::string heading = option->get_group() == "Options" ? "Flags" : option->get_group();
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const OptionGroup& known) { return known.heading == heading; });
    if (group == groups.end()) group = groups.insert(groups.end(), {heading, {}});
    group->options.push_back(option);
  }
  if (!positionals.options.empty()) groups.insert(groups.begin(), positionals);
  return groups;
}

}  // namespace hybridkv
