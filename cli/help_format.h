#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

namespace hybridkv {

/// Columns of a help, at most.
inline constexpr std::size_t help_width = 80;

/// A line or more of a list in a help: a name and its explanation, wrapped.
std::string help_entry(const std::string& name, const std::string& text);

/// Puts the options that were added since `first` under a heading of their own in the help.
void group_since(CLI::App& command, std::size_t first, const char* heading);

/// The help of the program and of its commands, at most 80 columns wide: what it does, how it is called, its commands
/// or flags by group, and the footer as it is written.
class HelpFormat : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

}  // namespace hybridkv
