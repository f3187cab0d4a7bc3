#include "python/command_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "python/tree.h"
#include "scenarios/number.h"

namespace hybridkv {

namespace {

/// Does YAML read the text as itself, wherever it stands?
bool is_plain(const std::string& text) {
  const auto is_fine = [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c == '/' || c == '+' || c == '-';
  };
  return !text.empty() && text != "-" && std::all_of(text.begin(), text.end(), is_fine);
}

/// The value in one line of YAML.
std::string yaml_of(const YamlNode& node) {
  std::string text;
  switch (node.kind) {
    case YamlNode::Kind::nothing: return "null";
    case YamlNode::Kind::scalar: return is_plain(node.text) ? node.text : yaml_quoted(node.text);
    case YamlNode::Kind::list:
      for (const YamlNode& item : node.items) text += (text.empty() ? "" : ", ") + yaml_of(item);
      return "[" + text + "]";
    case YamlNode::Kind::mapping:
      for (const YamlEntry& entry : node.entries)
        text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", entry.key, yaml_of(entry.value));
      return "{" + text + "}";
  }
  return text;
}

bool is_scalar(const YamlNode* node) { return node != nullptr && node->kind == YamlNode::Kind::scalar; }

/// The value of a flag as people type it: a list with commas, a model's file by its path.
std::string typed(const std::string& key, const YamlNode& value) {
  if (value.kind == YamlNode::Kind::scalar) return value.text;
  if (value.kind == YamlNode::Kind::list && !value.items.empty()) {
    std::string text;
    for (const YamlNode& item : value.items) {
      const std::string one = typed(key, item);
      if (one.find_first_of(",[{") != std::string::npos) return yaml_of(value);
      text += (text.empty() ? "" : ",") + one;
    }
    return without_separators(text).empty() ? text : yaml_of(value);
  }
  if (key == "model" && value.entries.size() == 1 && is_scalar(value.find("file"))) return value.find("file")->text;
  return value.kind == YamlNode::Kind::nothing ? std::string() : yaml_of(value);
}

/// The last value of a flag counts.
void say_flag(CommandWords& words, std::string_view flag, const std::string& value) {
  std::erase_if(words.replay, [&](const ReplayFlag& said) { return said.flag == flag; });
  words.replay.push_back({std::string(flag), value});
}

void say(CommandWords& words, const std::string& key, const YamlNode& value) {
  const std::string_view replays = flag_of_key(replay_flags, key);
  if (!flag_of_key(key_flags, key).empty()) {
    words.value_of(key) = typed(key, value);
  } else if (key == "simulate.trace" && is_scalar(value.find("file"))) {
    say_flag(words, replays, value.find("file")->text);
    for (const YamlEntry& entry : value.entries)
      if (entry.key != "file") say(words, key + "." + entry.key, entry.value);
  } else if (key == "simulate.trace.skip_bad_lines" && value.text == "true") {
    say_flag(words, replays, "");
  } else if (!replays.empty() && is_scalar(&value) && key != "simulate.trace.skip_bad_lines") {
    say_flag(words, replays, value.text);
  } else {
    words.overrides.push_back(fmt::format("{}={}", key, yaml_of(value)));
  }
}

/// Flags have an order in commands, keywords have none.
void sort_flags(std::vector<ReplayFlag>& flags) {
  const auto position = [](const ReplayFlag& said) {
    return std::find_if(replay_flags.begin(), replay_flags.end(),
                        [&](const KeyFlag& flag) { return flag.flag == said.flag; });
  };
  std::stable_sort(flags.begin(), flags.end(),
                   [&](const ReplayFlag& a, const ReplayFlag& b) { return position(a) < position(b); });
}

}  // namespace

CommandWords command_words(nanobind::handle scenario, const std::vector<AskedKey>& asked) {
  CommandWords words;
  if (!scenario.is_none() && is_text(scenario)) words.scenario = text_of(scenario);
  for (const AskedKey& one : asked) say(words, one.key, one.value);
  sort_flags(words.replay);
  return words;
}

}  // namespace hybridkv
