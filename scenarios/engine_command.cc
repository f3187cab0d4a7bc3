#include "scenarios/engine_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/digit.h"
#include "base/error.h"
#include "base/shell_split.h"
#include "base/shell_word.h"
#include "base/suggest.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

namespace {

using Words = std::vector<std::string>;

/// Engines take underscores for hyphens; those before the name stay.
std::string spelled(std::string_view flag) {
  std::string text(flag);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

bool is_flag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && !is_digit(word[1]) && word[1] != '.';
}

bool is_separator(const std::string& word) {
  return !word.empty() && word.find_first_not_of(";&|<>\n") == std::string::npos;
}

const EngineWord* find_word(std::span<const EngineWord> words, std::string_view flag) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const EngineWord& word) {
    return spelled(word.flag) == spelled(flag);
  });
  return found == words.end() ? nullptr : &*found;
}

/// "4k" as 4000 and "4K" as 4096; other texts as they are.
std::string human_number(const std::string& text) {
  constexpr std::string_view units = "kmgtKMGT";
  const std::size_t unit = text.empty() ? std::string_view::npos : units.find(text.back());
  const std::string digits = text.substr(0, text.empty() ? 0 : text.size() - 1);
  if (unit == std::string_view::npos || digits.empty() ||
      digits.find_first_not_of("0123456789.") != std::string::npos || std::count(digits.begin(), digits.end(), '.') > 1)
    return text;
  const double base = unit < 4 ? 1000 : 1024;
  const double number = std::stod(digits) * std::pow(base, static_cast<double>(unit % 4 + 1));
  return number < 9e15 ? fmt::format("{:.0f}", std::floor(number)) : text;
}

/// A value of YAML in one line, as a flag takes it.
std::string flow_text(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::list) return node.text;
  Words items;
  for (const YamlNode& item : node.items) items.push_back(flow_text(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

/// Where a command begins: the number of words behind it, and whose it is.
struct CommandStart {
  const CommandGrammar* grammar = nullptr;
  std::size_t first = 0;  ///< of its own words
  std::size_t begin = 0;
};

/// Do the words at `at` name this program? A path before it and a version behind an image's name do not count.
std::size_t words_of_program(const Words& words, std::size_t at, std::string_view program) {
  const Words parts = shell_split(program);
  if (at + parts.size() > words.size()) return 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string& word = words[at + i];
    const bool is_it = word == parts[i] || word.ends_with("/" + parts[i]) || word.starts_with(parts[i] + ":");
    if (!is_it) return 0;
  }
  return parts.size();
}

std::optional<CommandStart> start_of(const Words& words) {
  for (std::size_t at = 0; at < words.size(); ++at)
    for (const Engine* const engine : all_engines()) {
      if (engine->command == nullptr) continue;
      for (const std::string_view program : engine->command->programs)
        if (const std::size_t count = words_of_program(words, at, program))
          return CommandStart{engine->command, at + count, at};
    }
  return std::nullopt;
}

Words examples() {
  Words texts;
  for (const Engine* const engine : all_engines())
    if (engine->command && std::find(texts.begin(), texts.end(), engine->command->example) == texts.end())
      texts.emplace_back(engine->command->example);
  return texts;
}

/// Of the releases that have this command the one that users run today.
const Engine& todays_engine(const CommandGrammar& grammar) {
  const Engine* any = nullptr;
  for (const Engine* const engine : all_engines()) {
    if (engine->command != &grammar) continue;
    if (engine->successor == nullptr) return *engine;
    any = engine;
  }
  return *any;
}

class CommandReader {
 public:
  CommandReader(const CommandGrammar& grammar, EngineCommand& command, std::optional<std::size_t> without)
      : grammar_(grammar), command_(command), without_(without) {
    for (const EngineWord& word : grammar.words) known_.emplace_back(word.flag);
    for (const std::string_view flag : grammar.model_flags) known_.emplace_back(flag);
    for (const std::string_view flag : grammar.config_flags) known_.emplace_back(flag);
  }

  void read_variables(const Words& words, std::size_t end) {
    for (std::size_t i = 0; i < end; ++i) {
      const std::size_t equals = words[i].find('=');
      if (equals == std::string::npos) continue;
      if (const EngineWord* const word = find_word(grammar_.variables, words[i].substr(0, equals)))
        take(*word, words[i].substr(equals + 1), words[i]);
    }
  }

  void read(const Words& words, std::size_t at) {
    while (at < words.size() && !is_separator(words[at])) {
      const std::string& word = words[at++];
      if (!is_flag(word)) {
        take_plain(word);
        continue;
      }
      const std::size_t equals = word.find('=');
      const std::string flag = word.substr(0, equals);
      std::optional<std::string> value;
      if (equals != std::string::npos) value = word.substr(equals + 1);
      const auto next = [&]() -> std::optional<std::string> {
        if (value || at == words.size() || is_separator(words[at]) || is_flag(words[at])) return value;
        return words[at++];
      };
      take_flag(flag, value, next);
    }
    if (grammar_.settle) grammar_.settle(command_.keys);
    // The model's own layers that draft are said only where tokens are drafted.
    if (!command_.keys.contains("engine.speculative_tokens")) command_.keys.erase("engine.mtp_layers");
  }

 private:
  template <class Next>
  void take_flag(const std::string& flag, const std::optional<std::string>& own, const Next& next) {
    const auto is_one_of = [&](std::span<const std::string_view> flags) {
      return std::any_of(flags.begin(), flags.end(),
                         [&](std::string_view one) { return spelled(one) == spelled(flag); });
    };
    const EngineWord* const word = find_word(grammar_.words, flag);
    if (word && !word->alone.empty()) {
      take(*word, std::string(word->alone), own ? flag + "=" + *own : flag);
      return;
    }
    const std::optional<std::string> value = next();
    const std::string typed = value ? fmt::format("{} {}", flag, shell_word(*value)) : flag;
    if (is_one_of(grammar_.model_flags)) {
      command_.model = needed(flag, value);
    } else if (is_one_of(grammar_.config_flags)) {
      read_file(needed(flag, value));
    } else if (word) {
      take(*word, needed(flag, value), typed);
    } else if (!take_mapping(flag, value, typed)) {
      take_unknown(flag, typed);
    }
  }

  static const std::string& needed(const std::string& flag, const std::optional<std::string>& value) {
    if (!value) throw InputError(fmt::format("{}: its value is missing", flag));
    return *value;
  }

  void take_plain(const std::string& word) {
    if (command_.model.empty()) command_.model = word;
    else command_.unknown.push_back(shell_word(word));
  }

  /// Sets what a flag says.
  void take(const EngineWord& word, const std::string& text, const std::string& typed) {
    if (word.key.empty()) {
      command_.unused.push_back(typed);
      return;
    }
    const auto named = std::find_if(word.values.begin(), word.values.end(),
                                    [&](const WordValue& value) { return value.engine == text; });
    if (word.only_these && named == word.values.end()) {
      command_.unknown.push_back(typed);
      return;
    }
    const std::string value = named != word.values.end()              ? std::string(named->key)
                              : word.number == WordNumber::human ? human_number(text)
                                                                     : text;
    if (without_ == num_used_++) return;
    command_.used.push_back({typed, std::string(word.key), value});
    if (!value.empty()) command_.keys[std::string(word.key)] = value;
  }

  /// A JSON mapping behind a flag whose keys are known; false where the flag has none.
  bool take_mapping(const std::string& flag, const std::optional<std::string>& value, const std::string& typed) {
    const std::string prefix = spelled(flag) + ".";
    const bool has_keys = std::any_of(grammar_.words.begin(), grammar_.words.end(), [&](const EngineWord& word) {
      return spelled(word.flag).starts_with(prefix);
    });
    if (!has_keys || !value) return false;
    const auto json = nlohmann::ordered_json::parse(*value, nullptr, false);
    if (!json.is_object()) throw InputError(fmt::format("{}: its value is no JSON mapping", typed));
    for (const auto& [key, of_key] : json.items()) {
      const std::string text = of_key.is_string() ? of_key.get<std::string>() : of_key.dump();
      take_known(flag + "." + key, text);
    }
    return true;
  }

  void take_known(const std::string& flag, const std::string& text) {
    const std::string typed = fmt::format("{} {}", flag, shell_word(text));
    if (const EngineWord* const word = find_word(grammar_.words, flag)) take(*word, text, typed);
    else command_.unused.push_back(typed);
  }

  void take_unknown(const std::string& flag, const std::string& typed) {
    const std::vector<std::string> close = closest_words(flag, known_);
    // Engines have flags by the hundred; one letter or two apart from a known one it is a slip.
    const bool is_slip = !close.empty() && edit_distance(spelled(flag), spelled(close.front())) <= 2 &&
                         flag.starts_with("--") && flag.size() > 6;
    if (is_slip) throw InputError(fmt::format("{}: the engine has no such flag; did you mean '{}'?", flag, close[0]));
    command_.unknown.push_back(typed);
  }

  void read_file(const std::string& path) {
    const FileText file = read_text_file(path);
    if (!file.problem.empty()) throw InputError(fmt::format("{}: {}", path, file.problem));
    take_entries(parse_yaml(file.text, {path}), "--");
  }

  void take_entries(const YamlNode& node, const std::string& prefix) {
    for (const YamlEntry& entry : node.entries) {
      if (entry.value.kind == YamlNode::Kind::mapping) {
        take_entries(entry.value, prefix + entry.key + ".");
        continue;
      }
      const std::string flag = prefix + entry.key, text = flow_text(entry.value);
      const EngineWord* const word = find_word(grammar_.words, flag);
      if (spelled(flag) == "--model") command_.model = text;
      else if (word && !word->alone.empty() && text == "false") command_.unused.push_back(flag + " false");
      else take_known(flag, word && !word->alone.empty() ? std::string(word->alone) : text);
    }
  }

  const CommandGrammar& grammar_;
  EngineCommand& command_;
  std::optional<std::size_t> without_;
  std::size_t num_used_ = 0;
  Words known_;
};

/// The texts of all lists in a YAML value, in their order, with `command` before `args`.
void collect(const YamlNode& node, Words& words) {
  if (node.kind == YamlNode::Kind::scalar) words.push_back(node.text);
  for (const YamlNode& item : node.items) collect(item, words);
  for (const std::string_view key : {"command", "args"})
    if (const YamlNode* const value = node.find(key)) collect(*value, words);
}

}  // namespace

Words words_of_command(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) throw InputError("the command is empty");
  const std::string_view begin = text.substr(first);
  const bool is_list = begin.starts_with("- ") || begin.starts_with("[") || begin.starts_with("args:") ||
                       begin.starts_with("command:");
  if (!is_list) return shell_split(text);
  Words words;
  collect(parse_yaml(text, {"-"}), words);
  return words;
}

EngineCommand read_engine_command(const Words& words, std::string_view release, std::optional<std::size_t> without) {
  const EngineRules* const rules = rules_named(release);
  const Engine* const asked = rules ? &engine_of(*rules) : nullptr;
  std::optional<CommandStart> start = start_of(words);
  if (!start && asked && asked->command && !words.empty() && is_flag(words.front()))
    start = CommandStart{asked->command, 0, 0};
  if (!start)
    throw InputError(fmt::format("no engine is started by '{}'; hybridkv reads {}",
                                 words.empty() ? std::string() : words.front(), fmt::join(examples(), ", ")));
  if (asked && asked->command != start->grammar)
    throw InputError(fmt::format("the command is not that of {}; leave --engine out", asked->rules->title));
  EngineCommand command;
  command.engine = asked ? asked : &todays_engine(*start->grammar);
  CommandReader reader(*start->grammar, command, without);
  reader.read_variables(words, start->begin);
  reader.read(words, start->first);
  if (start->grammar->model_name && !command.model.empty())
    command.model = start->grammar->model_name(command.model);
  return command;
}

}  // namespace hybridkv
