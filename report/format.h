#pragma once

#include <optional>
#include <string_view>

namespace hybridkv {

/// What a command prints.
enum class Format {
  table,     ///< for the terminal: aligned text
  json,      ///< for programs: stable names, raw numbers
  csv,       ///< for spreadsheets and data frames: one header line, raw numbers
  markdown,  ///< for documents: GitHub's tables
};

/// All formats, in the order of the enumeration.
inline constexpr Format all_formats[] = {Format::table, Format::json, Format::csv, Format::markdown};

/// "table", "json", "csv", "markdown".
std::string_view to_string(Format format);
/// The format of that name; nothing for any other text.
std::optional<Format> parse_format(std::string_view name);

/// How text for a terminal looks.
struct Style {
  bool colour = false;  ///< ANSI colours; without them the output is plain text
  int width = 100;      ///< columns at which sentences are wrapped and wide tables folded, >= 20
};

}  // namespace hybridkv
