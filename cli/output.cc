#include "cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/printable.h"
#include "cli/values.h"
#include "report/text.h"

namespace hybridkv {

namespace {

/// Columns of the terminal that a stream is; nothing where it is none, or none that says so.
std::optional<int> terminal_columns(int stream) {
  constexpr int fewest = 20;
  winsize size{};
  if (isatty(stream) == 0 || ioctl(stream, TIOCGWINSZ, &size) != 0 || size.ws_col < fewest) return std::nullopt;
  return size.ws_col;
}

/// The first line in lines of so many columns. Those behind it show a file or a command as they are.
std::string wrapped(const std::string& text, int columns) {
  const std::size_t end = text.find('\n');
  const std::string indent = "  ";
  std::string lines;
  for (const std::string& line : wrap(text.substr(0, end), static_cast<std::size_t>(columns) - indent.size()))
    lines += (lines.empty() ? "" : "\n" + indent) + line;
  return end == std::string::npos ? lines : lines + text.substr(end);
}

}  // namespace

bool is_dumb_terminal() {
  const char* const terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) == "dumb";
}

Format OutputOptions::format() const { return *parse_format(format_name); }

Style OutputOptions::style() const {
  Style style;
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  const bool plain = std::getenv("NO_COLOR") != nullptr || is_dumb_terminal();
  style.colour = colour == "always" || (colour == "auto" && terminal && !plain);
  if (const auto columns = terminal_columns(STDOUT_FILENO)) style.width = *columns;
  return style;
}

void add_output_options(CLI::App& command, OutputOptions& options) {
  command.add_option("--format,-f", options.format_name, "table, json, csv or markdown (default: table)")
      ->check(one_of(names_of(format_names)))
      ->type_name("FORMAT");
  command.add_option("--color", options.colour, "auto (only on a terminal), always or never (default: auto)")
      ->check(one_of({"auto", "always", "never"}))
      ->type_name("WHEN");
  command.add_flag("--quiet,-q", options.quiet, "no progress on standard error");
}

void add_force_option(CLI::App& command, Overwrite& overwrite) {
  command.add_flag_callback("--force", [&overwrite] { overwrite = Overwrite::forced; },
                            "replace files that exist; never one that the command reads");
}

bool write_output_piece(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return true;
  if (errno == EPIPE) return false;
  // Whatever the reason: it is nothing that the scenario could cure.
  throw ResourceError("standard output: cannot be written: " + std::generic_category().message(errno));
}

void write_output(const std::string& text) { write_output_piece(text); }

void write_message(std::string_view text) {
  std::string lines = printable_lines(text);
  if (const auto columns = terminal_columns(STDERR_FILENO)) lines = wrapped(lines, *columns);
  std::fputs((lines + "\n").c_str(), stderr);
}

}  // namespace hybridkv
