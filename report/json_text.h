#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace hybridkv {

/// JSON for files and terminals that people also read: two spaces an indent, but what is at most three levels deep
/// stays on one line where it fits 120 columns (a view, the pages of a group), and a list of numbers always. Ends with
/// a line feed. Doubles keep every digit; bytes that are no UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& value);

/// The same of a value that stands in a larger text, behind `indent` spaces: without the spaces before its first line,
/// and without the line feed at its end.
std::string json_text_within(const nlohmann::ordered_json& value, std::size_t indent);

/// Writes json_text of `fields` and, as its last field, the list `name` of `count` values, piece by piece: one value at
/// a time is whole in memory. Pre: at least one value, each more than three levels deep; `fields` is an object.
void write_json_list(const nlohmann::ordered_json& fields, std::string_view name, std::size_t count,
                     const std::function<nlohmann::ordered_json(std::size_t)>& value_at,
                     const std::function<void(const std::string&)>& write);

/// JSON as a library wrote it with every unprintable character (base/printable.h) as \uXXXX: the same value, and
/// nothing in it drives a terminal.
std::string printable_json(std::string_view dumped);

}  // namespace hybridkv
