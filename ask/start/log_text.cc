#include "ask/start/log_text.h"

#include <cstddef>

#include "base/digit.h"

namespace hybridkv {

std::string without_colours(std::string_view line) {
  std::string plain;
  plain.reserve(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      plain += line[i];
      continue;
    }
    if (i + 1 < line.size() && line[i + 1] == '[') {
      ++i;
      while (i + 1 < line.size() && (line[i + 1] < '@' || line[i + 1] > '~')) ++i;
      ++i;  // the letter that ends it
    }
  }
  return plain;
}

std::string take_number(std::string_view text, std::string_view& rest) {
  std::string number;
  bool has_point = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    const bool goes_on = at + 1 < text.size() && is_digit(text[at + 1]) && !number.empty();
    if (is_digit(c))
      number += c;
    else if (c == '.' && goes_on && !has_point)
      has_point = true, number += c;
    else if (c != ',' || !goes_on || has_point)
      break;
  }
  constexpr std::size_t most_digits = 18;
  rest = text.substr(at);
  return number.size() > most_digits ? std::string() : number;
}

}  // namespace hybridkv
