#include "cli/engine_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/shell_word.h"
#include "scenarios/engine_command.h"
#include "scenarios/hf_hub.h"
#include "scenarios/model_library.h"
#include "scenarios/model_words.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

namespace {

constexpr const char* command_flag = "--command";

std::string text_of(const std::string& typed) {
  if (typed != "-") return typed;
  FileText file = read_text_file(typed);
  if (!file.problem.empty()) throw InputError(fmt::format("{} -: {}", command_flag, file.problem));
  return std::move(file.text);
}

/// A model that is not shipped, and that the hub's cache has.
std::string model_word(const std::string& model) {
  if (find_shipped_model(model) || names_model_file(model)) return model;
  const std::string on_hub = "hf://" + model;
  try {
    hub_config(on_hub);
    return on_hub;
  } catch (const InputError&) {
    return model;  // whoever reads it says what is close
  }
}

/// Fills what nobody typed.
void fill(ScenarioOptions& options, const EngineCommand& command) {
  const auto set = [](std::string& option, const std::string& value) {
    if (option.empty()) option = value;
  };
  set(options.release, std::string(command.engine->rules->name));
  if (!command.model.empty() && options.scenario.empty()) set(options.model, model_word(command.model));
  std::vector<std::string> assignments;
  for (const auto& [key, value] : command.keys) {
    if (key.starts_with("boot.")) options.boot[key] = value;
    else if (std::string* const option = option_of_key(options, key)) set(*option, value);
    else assignments.push_back(key + "=" + value);
  }
  options.overrides.insert(options.overrides.begin(), assignments.begin(), assignments.end());
}

std::vector<std::string> notes_of(const EngineCommand& command) {
  std::vector<std::string> notes;
  const auto add = [&](const char* what, const std::vector<std::string>& flags) {
    if (!flags.empty()) notes.push_back(fmt::format("{}: {}", what, fmt::join(flags, ", ")));
  };
  std::vector<std::string> used;
  for (const UsedFlag& flag : command.used) used.push_back(flag.typed);
  notes.push_back(fmt::format("the command is read as {} starts{}", command.engine->rules->title,
                              used.empty() ? "" : fmt::format(", with {}", fmt::join(used, ", "))));
  add("no number here depends on", command.unused);
  add("not known here, and not counted", command.unknown);
  return notes;
}

}  // namespace

std::vector<FlagLeftOut> flags_left_out(const ScenarioOptions& options) {
  std::vector<FlagLeftOut> left_out;
  if (!options.beside_command) return left_out;
  const EngineCommand whole = read_engine_command(options.engine_command, options.beside_command->release);
  for (std::size_t i = 0; i < whole.used.size(); ++i) {
    const auto without = [&options, i] {
      ScenarioOptions rest = *options.beside_command;
      fill(rest, read_engine_command(options.engine_command, rest.release, i));
      rest.flags = options.flags;
      return read_scenario(scenario_file(rest));
    };
    const UsedFlag& flag = whole.used[i];
    // What is asked of the start alone is no setting of a plan.
    if (!flag.key.starts_with("boot.")) left_out.push_back({flag.typed, flag.key, flag.value, without});
  }
  return left_out;
}

std::vector<std::string> with_engine_command(std::vector<std::string> words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes == words.end() || dashes + 1 == words.end()) return words;
  const std::vector<std::string> rest(dashes + 1, words.end());
  std::string text = rest.front();
  if (rest.size() == 1 && text != "-" && text.find(' ') == std::string::npos) return words;
  if (rest.size() > 1) {
    text.clear();
    for (const std::string& word : rest) text += (text.empty() ? "" : " ") + shell_word(word);
  }
  words.erase(dashes, words.end());
  words.insert(words.end(), {command_flag, text});
  return words;
}

void add_engine_command(CLI::App& command, ScenarioOptions& options) {
  const auto take = [&options](const std::string& typed) {
    try {
      const std::vector<std::string> words = words_of_command(text_of(typed));
      const EngineCommand read = read_engine_command(words, options.release);
      options.beside_command = std::make_shared<const ScenarioOptions>(options);
      options.engine_command = words;
      fill(options, read);
      show_notes(notes_of(read));
    } catch (const InputError& error) {
      throw CLI::ValidationError(command_flag, error.what());
    }
  };
  command
      .add_option_function<std::string>(command_flag, take,
                                        "the command that starts the engine, or - for standard input: its settings are "
                                        "taken; the words behind -- are one too")
      ->type_name("TEXT");
}

}  // namespace hybridkv
