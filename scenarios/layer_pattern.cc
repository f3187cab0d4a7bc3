#include "scenarios/layer_pattern.h"

#include <fmt/format.h>

#include <span>

namespace hybridkv {

namespace {


class PatternParser {
 public:
  explicit PatternParser(std::string_view pattern) : pattern_(pattern) {}

  std::vector<PatternLayer> parse() {
    std::vector<PatternLayer> layers = sequence(0);
    if (!at_end()) throw PatternError(position_, "')' closes nothing");
    if (layers.empty()) throw PatternError(0, "no layers");
    return layers;
  }

 private:
  bool at_end() {
    while (position_ < pattern_.size() && (pattern_[position_] == ' ' || pattern_[position_] == '\n')) ++position_;
    return position_ == pattern_.size();
  }

  std::vector<PatternLayer> sequence(int depth) {
    std::vector<PatternLayer> layers;
    while (!at_end() && pattern_[position_] != ')') {
      const std::vector<PatternLayer> item = pattern_[position_] == '(' ? group(depth) : std::vector{layer()};
      const std::size_t times = count();
      if (times > std::size_t{most_layers} || layers.size() + item.size() * times > std::size_t{most_layers})
        throw PatternError(position_ - 1, fmt::format("more than {} layers", most_layers));
      for (std::size_t i = 0; i < times; ++i) layers.insert(layers.end(), item.begin(), item.end());
    }
    return layers;
  }

  std::vector<PatternLayer> group(int depth) {
    constexpr int deepest = 16;
    const std::size_t open = position_++;
    if (depth >= deepest) throw PatternError(open, fmt::format("more than {} brackets inside each other", deepest));
    std::vector<PatternLayer> layers = sequence(depth + 1);
    if (at_end()) throw PatternError(open, "'(' is never closed");
    if (layers.empty()) throw PatternError(open, "nothing between the brackets");
    ++position_;
    return layers;
  }

  PatternLayer layer() {
    PatternLayer result{"", position_};
    if (pattern_[position_] == '-') {
      ++position_;
      return result;
    }
    result.kinds = kind();
    while (!at_end() && pattern_[position_] == '+') {
      ++position_;
      if (at_end()) throw PatternError(position_ - 1, "nothing follows '+'");
      result.kinds += kind();
    }
    return result;
  }

  char kind() {
    const char name = pattern_[position_];
    if (name >= '0' && name <= '9') throw PatternError(position_, "a number must follow what it repeats");
    if (!is_kind_name(name))
      throw PatternError(position_, "a layer is a letter or '*', or '-' for one without a cache; '+' joins two of "
                                    "them, '(' and ')' group, a number repeats");
    ++position_;
    return name;
  }

  /// The number that follows, 1 where none does; at most a little more than most_layers.
  std::size_t count() {
    if (at_end() || pattern_[position_] < '0' || pattern_[position_] > '9') return 1;
    std::size_t value = 0;
    const std::size_t begin = position_;
    for (; position_ < pattern_.size() && pattern_[position_] >= '0' && pattern_[position_] <= '9'; ++position_)
      if (value <= std::size_t{most_layers}) value = value * 10 + static_cast<std::size_t>(pattern_[position_] - '0');
    if (value == 0) throw PatternError(begin, "repeated 0 times");
    return value;
  }

  std::string_view pattern_;
  std::size_t position_ = 0;
};

using Layers = std::span<const std::string>;

std::string pattern_text(Layers layers);

/// "m", "m5", "(a+m)", "(mmma)5".
std::string repeated(Layers unit, std::size_t times) {
  const std::string text = unit.size() == 1 ? unit.front() : pattern_text(unit);
  return (text.size() == 1 ? text : "(" + text + ")") + (times == 1 ? "" : std::to_string(times));
}

/// How often the first `period` layers stand one after the other at the beginning.
std::size_t repetitions(Layers layers, std::size_t period) {
  std::size_t equal = period;
  while (equal < layers.size() && layers[equal] == layers[equal - period]) ++equal;
  return equal / period;
}

std::string pattern_text(Layers layers) {
  constexpr std::size_t longest_searched = 512;  // of longer ones only runs are found, in linear time
  constexpr std::size_t shortest_repetition = 4;  // "mmm" reads better than "m3"
  std::string text;
  while (!layers.empty()) {
    std::size_t best = 1, times = 1;
    const std::size_t longest_period = layers.size() <= longest_searched ? layers.size() / 2 : 1;
    for (std::size_t period = 1; period <= longest_period; ++period) {
      const std::size_t count = repetitions(layers, period);
      if (count > 1 && period * count >= shortest_repetition && period * count > best * times) {
        best = period;
        times = count;
      }
    }
    text += repeated(layers.first(best), times);
    layers = layers.subspan(best * times);
  }
  return text;
}

}  // namespace

std::string layer_pattern_text(const std::vector<std::string>& layers) { return pattern_text(layers); }

bool is_kind_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '*'; }

std::vector<PatternLayer> parse_layer_pattern(std::string_view pattern) { return PatternParser(pattern).parse(); }

}  // namespace hybridkv
