#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/input_file.h"
#include "scenarios/source_map.h"

namespace hybridkv {

struct YamlEntry;

/// What a file may hold: far beyond any scenario and any config, and soon refused.
inline constexpr std::int64_t most_values = 100'000;
inline constexpr std::int64_t deepest_nesting = 64;  ///< lists and mappings inside each other

/// One value of a YAML text with its place. A value type, so that an override or a point of a sweep is a
/// copy in which one value is replaced.
struct YamlNode {
  enum class Kind { nothing, scalar, list, mapping };
  Kind kind = Kind::nothing;
  std::string text;                ///< scalar: without quotes
  bool quoted = false;             ///< scalar: written in quotes, so text even where it looks like a number
  std::vector<YamlNode> items;     ///< list
  std::vector<YamlEntry> entries;  ///< mapping, in the order of the text, each key once
  Place place;                     ///< of the value
  Place key_place;                 ///< of its key; for list items and the root the same as `place`
  bool left_out = false;           ///< the value of a key that is as good as not there: `find` does not see it

  /// The value of a key of a mapping, else null; null too where the value is left out.
  const YamlNode* find(std::string_view key) const;
  YamlNode* find(std::string_view key);
};

/// One key of a mapping and its value.
struct YamlEntry {
  std::string key;
  YamlNode value;
};

/// What a value is, for a message: "the text 'abc'", "a list", "a mapping", "nothing".
std::string describe(const YamlNode& node);

/// The text in quotes for a message, shortened, without control characters.
std::string in_quotes(std::string_view text);

/// The text in double quotes, as YAML reads it back.
std::string yaml_quoted(std::string_view text);

/// Reads one YAML document; `source` gives the name and the directory of the places, its lines are filled in.
/// A text without any value is a node of kind nothing.
/// Throws InputError: broken YAML, more than one document, a key twice in one mapping, a key that is no plain
/// text, more than 100,000 values or 64 levels (aliases counted as what they name).
YamlNode parse_yaml(std::string_view text, SourceText source);

/// As parse_yaml, for a value given in a flag: all places are the flag as a whole.
YamlNode parse_flag_value(std::string_view text, SourceText source);

/// The bytes of a file, or why there are none.
struct FileText {
  std::string text;
  std::string problem;  ///< "no such file", "is a directory", …; empty when all is well
};

/// Reads a file of at most 16 MiB; "-" is standard input. What can be read only once (a pipe) is kept, so that it reads
/// the same every time.
FileText read_text_file(const std::string& path);

}  // namespace hybridkv
