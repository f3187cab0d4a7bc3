#include "scenarios/source_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/printable.h"

namespace hybridkv {

namespace {

constexpr std::size_t longest_excerpt = 200;

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

/// Blanks as wide as the characters before `column`; a tab counts as one.
std::string indent_to(std::string_view line, std::int64_t column) {
  std::string blanks;
  for (char byte : line) {
    if (!begins_character(byte)) continue;
    if (--column == 0) break;
    blanks += ' ';
  }
  return blanks;
}

/// The path one level up: "a.b[2]" -> "a.b" -> "a" -> "".
std::string parent_of(const std::string& path) {
  const std::size_t cut = path.find_last_of(".[");
  return cut == std::string::npos ? std::string() : path.substr(0, cut);
}

}  // namespace

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool same_place(const Place& a, const Place& b) { return a.text == b.text && a.line == b.line && a.column == b.column; }

std::string to_string(const Place& place) {
  if (place.line == 0) return place.text->name;
  return fmt::format("{}:{}:{}", place.text->name, place.line, place.column);
}

InputError error_at(const Place& place, const std::string& message) {
  std::string text = to_string(place) + ": " + message;
  const auto line = static_cast<std::size_t>(place.line);
  if (line >= 1 && line <= place.text->lines.size()) {
    const std::string& excerpt = place.text->lines[line - 1];
    if (excerpt.size() <= longest_excerpt)
      text += fmt::format("\n  {}\n  {}^", printable(excerpt), indent_to(excerpt, place.column));
  }
  return InputError(text, to_string(place), message);
}

void SourceMap::add(const std::string& path, const Place& place) { places_.insert_or_assign(path, place); }

void SourceMap::add_alias(const std::string& path, const std::string& target) {
  aliases_.insert_or_assign(path, target);
}

const Place* SourceMap::find_exactly(const std::string& path) const {
  if (const auto found = places_.find(path); found != places_.end()) return &found->second;
  for (std::string prefix = path; !prefix.empty(); prefix = parent_of(prefix)) {
    const auto alias = aliases_.find(prefix);
    if (alias == aliases_.end()) continue;
    const auto found = places_.find(alias->second + path.substr(prefix.size()));
    if (found != places_.end()) return &found->second;
  }
  return nullptr;
}

const Place* SourceMap::find(std::string path) const {
  for (;; path = parent_of(path)) {
    if (const Place* place = find_exactly(path)) return place;
    if (path.empty()) return nullptr;
  }
}

std::vector<std::string> SourceMap::sources() const {
  std::set<std::string> names;
  for (const auto& [path, place] : places_)
    if (place.text) names.insert(place.text->name);
  return {names.begin(), names.end()};
}

}  // namespace hybridkv
