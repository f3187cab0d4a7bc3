#pragma once

#include <optional>
#include <string_view>

#include "base/named_values.h"

namespace hybridkv {

/// What a command prints.
enum class Format {
  table,     ///< for the terminal: aligned text
  json,      ///< for programs: stable names, raw numbers
  csv,       ///< for spreadsheets and data frames: one header line, raw numbers
  markdown,  ///< for documents: GitHub's tables
};

/// In the order of the enumeration.
inline constexpr auto format_names = std::to_array<Named<Format>>(
    {{Format::table, "table"},
     {Format::json, "json"},
     {Format::csv, "csv"},
     {Format::markdown, "markdown"}});
inline constexpr auto all_formats = values_of(format_names);

constexpr std::string_view to_string(Format format) { return name_in(format_names, format); }
constexpr std::optional<Format> parse_format(std::string_view name) { return value_in(format_names, name); }

/// How text for a terminal looks.
struct Style {
  bool colour = false;  ///< ANSI colours; without them the output is plain text
  int width = 100;      ///< columns at which sentences are wrapped and wide tables folded, >= 20
};

}  // namespace hybridkv
