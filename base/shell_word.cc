#include "base/shell_word.h"

namespace hybridkv {

std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                             "0123456789_-+=.,:/@%") == std::string::npos;
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_list(const std::vector<std::string>& texts) {
  std::string words;
  for (const std::string& text : texts) words += (words.empty() ? "" : " ") + shell_word(text);
  return words;
}

}  // namespace hybridkv
