#include "report/json_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "base/utf8.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

std::string scalar_text(const Json& value) {
  return printable_json(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// Levels of arrays and objects: 0 for a scalar, 1 for [1, 2] and {}.
int depth_of(const Json& value) {
  if (!value.is_structured()) return 0;
  int deepest = 0;
  for (const Json& item : value) deepest = std::max(deepest, depth_of(item));
  return deepest + 1;
}

std::string one_line(const Json& value) {
  if (!value.is_structured()) return scalar_text(value);
  std::string text;
  for (const auto& item : value.items()) {
    if (!text.empty()) text += ", ";
    if (value.is_object()) text += scalar_text(item.key()) + ": ";
    text += one_line(item.value());
  }
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

/// Appends the value; its first line starts at column `column`.
void append(std::string& text, const Json& value, std::size_t indent, std::size_t column) {
  constexpr std::size_t width = 120;
  if (const int depth = depth_of(value); depth <= 3) {
    const std::string line = one_line(value);
    // A row of numbers is easier to read as one long line than as one number a line.
    if (column + line.size() < width || depth == 0 || (depth == 1 && value.is_array())) {
      text += line;
      return;
    }
  }
  const std::string space(indent + 2, ' ');
  text += value.is_object() ? "{\n" : "[\n";
  std::size_t left = value.size();
  for (const auto& item : value.items()) {
    const std::string key = value.is_object() ? scalar_text(item.key()) + ": " : "";
    text += space + key;
    append(text, item.value(), indent + 2, space.size() + key.size());
    text += --left > 0 ? ",\n" : "\n";
  }
  text += std::string(indent, ' ') + (value.is_object() ? "}" : "]");
}

}  // namespace

std::string printable_json(std::string_view dumped) {
  std::string text;
  while (!dumped.empty()) {
    const Utf8Character next = decode_utf8(dumped);
    if (!is_unprintable(next.code_point))
      text += dumped.substr(0, next.length);
    else if (next.code_point < 0x10000)
      text += fmt::format("\\u{:04x}", next.code_point);
    else
      text += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + ((next.code_point - 0x10000) >> 10),
                          0xdc00 + ((next.code_point - 0x10000) & 0x3ff));
    dumped.remove_prefix(next.length);
  }
  return text;
}

std::string json_text(const Json& value) { return json_text_within(value, 0) + "\n"; }

std::string json_text_within(const Json& value, std::size_t indent) {
  std::string text;
  append(text, value, indent, indent);
  return text;
}

void write_json_list(const Json& fields, std::string_view name, std::size_t count,
                     const std::function<Json(std::size_t)>& value_at,
                     const std::function<void(const std::string&)>& write) {
  std::string head = "{\n";
  for (const auto& [key, value] : fields.items())
    head += fmt::format("  {}: {},\n", scalar_text(key), json_text_within(value, 2));
  constexpr std::size_t indent = 4;
  const std::string space(indent, ' ');
  write(fmt::format("{}  {}: [\n", head, scalar_text(name)));
  for (std::size_t i = 0; i < count; ++i)
    write(space + json_text_within(value_at(i), indent) + (i + 1 < count ? ",\n" : "\n"));
  write("  ]\n}\n");
}

}  // namespace hybridkv
