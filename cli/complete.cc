#include "cli/complete.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/offers.h"
#include "scenarios/model_library.h"
#include "scenarios/read.h"
#include "scenarios/scenario_keys.h"

namespace hybridkv {

namespace {

/// Collects what continues a word.
struct Collector {
  std::string typed;   ///< of the word, behind `before`
  std::string before;  ///< what stays as it is: "--pack=", "nhd,"
  Completion& result;

  void add(const std::string& word, const std::string& description = {}) {
    if (!word.starts_with(typed)) return;
    const std::string whole = before + word;
    const auto is_it = [&](const CompletedWord& known) { return known.word == whole; };
    if (std::none_of(result.candidates.begin(), result.candidates.end(), is_it))
      result.candidates.push_back({whole, description});
  }
};

/// The key of a dotted path; null for what is none.
const KeyInfo* find_key(const std::string& path) {
  const SectionInfo* section = &scenario_keys().info();
  for (std::size_t begin = 0; section != nullptr;) {
    const std::size_t end = path.find('.', begin);
    const KeyInfo* const key = section->find(path.substr(begin, end - begin));
    if (key == nullptr || end == std::string::npos) return key;
    section = key->section;
    begin = end + 1;
  }
  return nullptr;
}

/// Every key that takes a value, "engine.memory="; of a list of mappings the list itself.
void add_keys(Collector& collector, const SectionInfo& section, const std::string& path) {
  for (const KeyInfo& key : section.keys) {
    const std::string name = path_of(path, key.name);
    if (key.type == ValueType::section && key.section != nullptr) add_keys(collector, *key.section, name);
    else collector.add(name + "=", key.doc);
  }
}

void add_choices(Collector& collector, const std::string& path) {
  const KeyInfo* const key = find_key(path);
  if (key == nullptr) return;
  for (const std::string& word : key->choices) collector.add(word);
  if (key->type == ValueType::flag)
    for (const char* word : {"true", "false"}) collector.add(word);
}

void add_keys_or_choices(Collector& collector) {
  const std::size_t equals = collector.typed.find('=');
  if (equals == std::string::npos) return add_keys(collector, scenario_keys().info(), "");
  Collector value{collector.typed.substr(equals + 1), collector.before + collector.typed.substr(0, equals + 1),
                  collector.result};
  add_choices(value, collector.typed.substr(0, equals));
}

void add_commands(const CLI::App& app, Collector& collector) {
  for (const CLI::App* command : app.get_subcommands({}))
    collector.add(command->get_name(), command->get_description());
}

void add_word(const CLI::App& command, Collector& collector, const std::string& word) {
  if (word == offered_files) collector.result.files = true;
  else if (word == offered_folders) collector.result.folders = true;
  else if (word == offered_keys) add_keys_or_choices(collector);
  else if (const std::string key = key_of_offer(word); !key.empty()) add_choices(collector, key);
  else if (word == offered_commands) add_commands(*command.get_parent(), collector);
  else if (word == offered_models)
    for (const std::string& name : shipped_model_names()) collector.add(name);
  else if (word == offered_scenarios)
    for (const std::string& name : shipped_scenarios()) collector.add(name);
  else collector.add(word);
}

/// What may stand as a value behind `kept`, of which so much is typed.
void add_values(const CLI::App& command, CLI::Option& option, const std::string& kept, const std::string& typed,
                Completion& result) {
  const Offers offers = offers_of(option);
  const std::size_t comma = offers.is_list ? typed.rfind(',') : std::string::npos;
  const std::size_t begin = comma == std::string::npos ? 0 : comma + 1;
  Collector collector{typed.substr(begin), kept + typed.substr(0, begin), result};
  for (const std::string& word : offers.words) add_word(command, collector, word);
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

bool takes_several(const CLI::Option& option) { return option.get_items_expected_max() > 1; }

/// The option that a word such as "--pack", "--pack=4" or "-f" names; null for any other.
CLI::Option* find_flag(CLI::App& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  for (CLI::Option* option : command.get_options())
    if (!option->get_positional() && option->check_name(name)) return option;
  return nullptr;
}

/// The words behind a command, as far as they were read: what the next one can be.
struct WordsBefore {
  CLI::Option* flag = nullptr;            ///< whose value is next
  std::vector<const CLI::Option*> given;  ///< flags
  std::size_t positionals = 0;            ///< that stand there already
  bool flags_ended = false;               ///< by a lone "--"
};

WordsBefore read_words(CLI::App& command, const std::vector<std::string>& words) {
  WordsBefore before;
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (before.flag != nullptr) before.flag = nullptr;
    else if (!before.flags_ended && word == "--") before.flags_ended = true;
    else if (before.flags_ended || word.size() < 2 || word[0] != '-') ++before.positionals;
    else if (CLI::Option* const flag = find_flag(command, word); flag != nullptr) {
      before.given.push_back(flag);
      if (takes_value(*flag) && word.find('=') == std::string::npos) before.flag = flag;
    }
  }
  return before;
}

void add_flags(CLI::App& command, const WordsBefore& before, const std::string& typed, Completion& result) {
  Collector collector{typed, "", result};
  for (CLI::Option* option : command.get_options()) {
    if (option->get_positional() || option->get_group().empty()) continue;
    const bool is_given = std::find(before.given.begin(), before.given.end(), option) != before.given.end();
    if (is_given && !takes_several(*option)) continue;
    for (const std::string& name : option->get_lnames()) collector.add("--" + name, option->get_description());
    for (const std::string& name : option->get_snames()) collector.add("-" + name, option->get_description());
  }
}

void add_positionals(CLI::App& command, const WordsBefore& before, const std::string& typed, Completion& result) {
  std::size_t left = before.positionals;
  for (CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    if (left == 0 || takes_several(*option)) return add_values(command, *option, "", typed, result);
    --left;
  }
}

}  // namespace

Completion complete(CLI::App& app, const std::vector<std::string>& words) {
  Completion result;
  if (words.empty()) return result;
  const std::string& typed = words.back();
  if (words.size() == 1 && typed.starts_with("-")) {
    add_flags(app, {}, typed, result);
    return result;
  }
  if (words.size() == 1 || words.front() == "help") {
    Collector collector{typed, "", result};
    if (words.size() <= 2) add_commands(app, collector);
    if (words.size() == 1) collector.add("help", "Explain all commands, or the one behind it");
    return result;
  }
  const std::vector<CLI::App*> commands = app.get_subcommands({});
  const auto found = std::find_if(commands.begin(), commands.end(),
                                  [&](const CLI::App* command) { return command->get_name() == words.front(); });
  if (found == commands.end()) return result;
  CLI::App* const command = *found;
  const WordsBefore before = read_words(*command, words);
  const std::size_t equals = typed.find('=');
  if (before.flag != nullptr) {
    add_values(*command, *before.flag, "", typed, result);
  } else if (before.flags_ended || !typed.starts_with("-")) {
    add_positionals(*command, before, typed, result);
  } else if (equals == std::string::npos) {
    add_flags(*command, before, typed, result);
  } else if (CLI::Option* const flag = find_flag(*command, typed); flag != nullptr && takes_value(*flag)) {
    add_values(*command, *flag, typed.substr(0, equals + 1), typed.substr(equals + 1), result);
  }
  return result;
}

std::string candidate_lines(CLI::App& app, const std::vector<std::string>& words) {
  const Completion completion = complete(app, {words.begin() + 2, words.end()});
  std::string lines;
  for (const CompletedWord& candidate : completion.candidates)
    lines += candidate.description.empty() ? candidate.word + "\n"
                                           : fmt::format("{}\t{}\n", candidate.word, candidate.description);
  if (completion.files) lines += ":files\n";
  if (completion.folders) lines += ":folders\n";
  return lines;
}

bool asks_for_candidates(const std::vector<std::string>& words) {
  return words.size() >= 2 && words[0] == "completions" && words[1] == "candidates";
}

}  // namespace hybridkv
