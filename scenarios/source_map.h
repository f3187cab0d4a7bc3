#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace hybridkv {

/// A text that values are read from: a file, a shipped file, or one flag of the command line.
struct SourceText {
  std::string name;                ///< as messages show it: "my.yaml", "shipped:qwen3.5-397b.yaml", "--set engine.x=1"
  std::string directory;           ///< relative paths inside the text start here
  std::vector<std::string> lines;  ///< without line ends; empty for a flag, which is its own excerpt
};

/// The lines of a text without their ends.
std::vector<std::string> lines_of(std::string_view text);

/// Where a value stands.
struct Place {
  std::shared_ptr<const SourceText> text;
  std::int64_t line = 0;    ///< from 1; 0: the text as a whole
  std::int64_t column = 0;  ///< from 1, in characters
};

/// Are two places one?
bool same_place(const Place& a, const Place& b);

/// "my.yaml:4:20", or the name alone where the place is the text as a whole.
std::string to_string(const Place& place);

/// An error whose message begins with the place and ends with the line of the text and a caret:
///
///     my.yaml:4:20: engine.tensor_parallel: 0 is too small; allowed: …
///       tensor_parallel: 0
///                        ^
InputError error_at(const Place& place, const std::string& message);

/// Throws error_at(place, fmt::format(format, arguments...)).
template <class... Arguments>
[[noreturn]] void fail_at(const Place& place, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw error_at(place, fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// A whole number that somebody wrote, and where.
struct WrittenNumber {
  std::string path;  ///< "limits.max_model_len"
  std::int64_t value = 0;
  Place place;
};

/// The places of all values of a scenario and of its model, by path ("engine.tensor_parallel").
class SourceMap {
 public:
  void add(const std::string& path, const Place& place);

  /// Paths below `path` are looked up below `target` too: "model.layers[3].attention" stands for the kind
  /// that the layer is of, "model.kinds.a".
  void add_alias(const std::string& path, const std::string& target);

  /// The place of this path, else of its nearest parent; null where not even the root "" has a place.
  const Place* find(std::string path) const;

  /// The names of all texts that places are in: files, shipped files, flags.
  std::vector<std::string> sources() const;

 private:
  const Place* find_exactly(const std::string& path) const;
  std::map<std::string, Place> places_;
  std::map<std::string, std::string> aliases_;
};

}  // namespace hybridkv
