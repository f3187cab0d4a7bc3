#include "report/format.h"

namespace hybridkv {

std::string_view to_string(Format format) {
  switch (format) {
    case Format::table: return "table";
    case Format::json: return "json";
    case Format::csv: return "csv";
    case Format::markdown: return "markdown";
  }
  return "?";
}

std::optional<Format> parse_format(std::string_view name) {
  for (Format format : all_formats)
    if (to_string(format) == name) return format;
  return std::nullopt;
}

}  // namespace hybridkv
