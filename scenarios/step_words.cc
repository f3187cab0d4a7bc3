#include "scenarios/step_words.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/digit.h"
#include "base/error.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "scenarios/number.h"

namespace hybridkv {

namespace {

constexpr std::int64_t most_step_tokens = 1'000'000'000, most_step_requests = 100'000;

/// The words of one part of a step, taken from the left.
class StepWords {
 public:
  explicit StepWords(std::string_view text) {
    std::string word;
    for (const char letter : std::string(text) + " ") {
      if (letter != ' ') word += letter;
      else if (!word.empty()) words_.push_back(std::exchange(word, {}));
    }
    for (const std::string& one : words_) text_ += (text_.empty() ? "" : " ") + one;
  }

  ShapePart part() {
    ShapePart part;
    if (is_number()) {
      part.count = number(1, most_step_requests, "requests");
      if (is("x")) ++next_;
    }
    const std::string kind = next_ < words_.size() ? words_[next_] : "";
    const std::vector<std::string> kinds{"decode", "prompt"};
    if (kind != "decode" && kind != "prompt")
      fail(kind.empty() ? "says neither decode nor prompt"
                        : fmt::format("{} is neither decode nor prompt{}", printable(kind), did_you_mean(kind, kinds)));
    ++next_;
    const bool decodes = kind == "decode";
    if (is_number()) part.query = number(1, most_step_tokens, "tokens");
    else if (!decodes) fail("a prompt has a number of tokens");
    if (decodes) part.drafts = part.query - 1;
    if (is("behind")) {
      ++next_;
      if (!is_number()) fail("behind is followed by a number of tokens");
      part.context = number(decodes ? 1 : 0, most_step_tokens, "tokens");
    } else if (decodes) {
      fail("who generates does so behind tokens that are there");
    }
    if (is("found") && !decodes && part.context > 0) {
      part.found = true;
      ++next_;
    }
    if (next_ < words_.size()) fail(fmt::format("{} is not expected there", printable(words_[next_])));
    return part;
  }

 private:
  bool is(std::string_view word) const { return next_ < words_.size() && words_[next_] == word; }
  bool is_number() const { return next_ < words_.size() && is_digit(words_[next_].front()); }

  std::int64_t number(std::int64_t least, std::int64_t most, const char* what) {
    const std::string& word = words_[next_++];
    const ParsedNumber read = parse_tokens(word);
    if (!read.problem.empty()) fail(fmt::format("{} {}", printable(word), read.problem));
    if (read.value < least || read.value > most)
      fail(fmt::format("{} {} are not from {} to {}", word, what, least, most));
    return read.value;
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw InputError(fmt::format("--step: '{}': {}; a step is written like \"64 x decode behind 8k + prompt 2k behind "
                                 "10k found\"", printable(text_), why));
  }

  std::vector<std::string> words_;
  std::string text_;
  std::size_t next_ = 0;
};

}  // namespace

StepShape read_step(std::string_view text) {
  StepShape shape;
  std::int64_t requests = 0;
  while (true) {
    const std::size_t end = text.find_first_of("+,");
    shape.parts.push_back(StepWords(text.substr(0, end)).part());
    requests += shape.parts.back().count;
    if (requests > most_step_requests)
      throw InputError(fmt::format("--step: its parts have more than {} requests together", most_step_requests));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  shape.name = shape_name(shape.parts);
  return shape;
}

}  // namespace hybridkv
