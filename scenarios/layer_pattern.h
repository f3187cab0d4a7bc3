#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hybridkv {

/// One layer of a pattern.
struct PatternLayer {
  std::string kinds;       ///< names of what it caches, one character each, in the order written; "" = no cache
  std::size_t offset = 0;  ///< of its first character in the pattern, for messages
};

/// A pattern that cannot be read; `offset` points at the character.
class PatternError : public std::runtime_error {
 public:
  PatternError(std::size_t offset, const std::string& message) : std::runtime_error(message), offset_(offset) {}
  std::size_t offset() const { return offset_; }

 private:
  std::size_t offset_;
};

/// Layers that a model may have, however it says which.
inline constexpr std::int64_t most_layers = 10'000;

/// True for a character that may name a kind of layer: a letter or '*'.
bool is_kind_name(char c);

/// Expands the layers of a model, written like a chemical formula: each character is a layer of that kind, a
/// number repeats what stands before it, brackets group, '+' puts two kinds into one layer, '-' is a layer
/// without a cache; blanks mean nothing. Patterns of published configs ("MEMEM*EMEM…") can be pasted as they are.
///
/// Example: "(mmma)15" = 60 layers, every fourth of kind a; "m5am4" = five m, an a, four m; "(a+m)32".
/// Throws PatternError: unknown character, unbalanced bracket, a number without anything to repeat, 0 layers or
/// more than 10,000.
std::vector<PatternLayer> parse_layer_pattern(std::string_view pattern);

/// A short pattern for these layers, each written as in a pattern ("m", "a+m", "-"); repetitions are found greedily.
/// parse_layer_pattern gives the same layers back. Pre: none is empty.
/// Example: m m m a, twelve times -> "(mmma)12"; five m, an a, four m -> "m5am4".
std::string layer_pattern_text(const std::vector<std::string>& layers);

}  // namespace hybridkv
