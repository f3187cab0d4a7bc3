#include "scenarios/command_words.h"

#include <algorithm>
#include <stdexcept>

#include "base/shell_word.h"

namespace hybridkv {

std::string& CommandWords::value_of(std::string_view key) {
  for (std::size_t i = 0; i < key_flags.size(); ++i)
    if (key_flags[i].key == key) return values[i];
  throw std::logic_error("precondition broken: the key has a flag");
}

bool CommandWords::replays_with(std::string_view flag) const {
  return std::any_of(replay.begin(), replay.end(), [&](const ReplayFlag& typed) { return typed.flag == flag; });
}

std::string shell_words(const CommandWords& words) {
  std::string text;
  const auto add = [&](const std::string& word) { text += (text.empty() ? "" : " ") + shell_word(word); };
  if (!words.scenario.empty()) add(words.scenario);
  for (const std::string& assignment : words.overrides) {
    add("--set");
    add(assignment);
  }
  for (std::size_t i = 0; i < key_flags.size(); ++i) {
    if (words.values[i].empty()) continue;
    add(std::string(key_flags[i].flag));
    add(words.values[i]);
  }
  return text;
}

std::string replay_words(const CommandWords& words) {
  std::string text;
  for (const ReplayFlag& typed : words.replay) {
    text += " " + typed.flag;
    if (!typed.value.empty()) text += " " + shell_word(typed.value);
  }
  return text;
}

}  // namespace hybridkv
