#include "cli/scenario_options.h"

#include <filesystem>
#include <sstream>

#include "layout/error.h"
#include "planner/plan.h"
#include "scenarios/read.h"

namespace hybridkv {

namespace {

/// A flag, the key of the scenario it stands for, and where its value is kept.
struct FlagKey {
  const char* flag;
  const char* key;
  std::string ScenarioOptions::*value;
};
constexpr FlagKey flag_keys[] = {
    {"--model", "model", &ScenarioOptions::model},
    {"--pack", "engine.attention_pack_size", &ScenarioOptions::pack},
    {"--tp", "engine.tensor_parallel", &ScenarioOptions::tensor_parallel},
    {"--memory", "engine.memory", &ScenarioOptions::memory},
    {"--max-model-len", "limits.max_model_len", &ScenarioOptions::max_model_len},
};

/// "1,2,4" as the YAML list it means; a single value, a range and a list in brackets stay as they are.
std::string list_value(const std::string& text) {
  if (text.find(',') == std::string::npos || text.front() == '[' || text.front() == '{') return text;
  return "[" + text + "]";
}

/// --model takes a shipped name, or a file.
std::string model_value(const std::string& text) {
  const bool has_ending = text.ends_with(".yaml") || text.ends_with(".yml") || text.ends_with(".json");
  const bool is_file = text.find('/') != std::string::npos || has_ending;
  return is_file ? "{file: " + yaml_quoted(text) + "}" : text;
}

/// "Qwen3.5-4B,my-model.yaml" as the YAML list it means; a file may have a comma in its name.
std::string model_values(const std::string& text) {
  if (text.find(',') == std::string::npos || text.front() == '[' || std::filesystem::exists(text))
    return text.front() == '[' ? text : model_value(text);
  std::string list;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) list += (list.empty() ? "[" : ", ") + model_value(name);
  return list + "]";
}

ScenarioFile load(const ScenarioOptions& options) {
  if (!options.scenario.empty()) return load_scenario(options.scenario);
  if (options.model.empty())
    throw InputError("nothing to plan: name a SCENARIO (a file, or one that comes with hybridkv: qwen3.5-397b, example) "
                     "or give --model NAME --memory SIZE --max-model-len TOKENS");
  return parse_scenario("{}", "command line");
}

}  // namespace

void add_scenario_options(CLI::App& command, ScenarioOptions& options) {
  command.add_option("SCENARIO", options.scenario, "scenario file, or the name of one that comes with hybridkv")
      ->type_name("");
  command.add_option("--set", options.overrides, "override a scenario value; may be repeated")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--model", options.model, "model by name (see `hybridkv models`) or file: a model file, or a published config.json")->type_name("NAME");
  command.add_option("--pack", options.pack, "attention layers per page, a list or a range: 1,2,4 or 1..16")
      ->type_name("LIST");
  command.add_option("--tp", options.tensor_parallel, "tensor parallel ranks")->type_name("RANKS");
  command.add_option("--memory", options.memory, "memory for all pools of one rank: 40GiB")->type_name("SIZE");
  command.add_option("--max-model-len", options.max_model_len, "longest sequence in tokens; a list gives each")
      ->type_name("TOKENS");
}

ScenarioFile scenario_file(const ScenarioOptions& options) {
  ScenarioFile file = load(options);
  for (const std::string& assignment : options.overrides) apply_override(file, assignment);
  for (const FlagKey& flag : flag_keys) {
    const std::string& text = options.*flag.value;
    if (text.empty()) continue;
    const std::string value = std::string(flag.key) == "model" ? model_values(text) : list_value(text);
    apply_override(file, flag.key, value, std::string(flag.flag) + " " + text);
  }
  for (const FlagValue& flag : options.flags) apply_override(file, flag.key, flag.value, flag.shown);
  return file;
}

Scenario read_scenario(const ScenarioOptions& options) { return read_scenario(scenario_file(options)); }

Scenario read_simulate_section(const ScenarioOptions& options) {
  ScenarioFile file = parse_scenario("{}", "command line");
  for (const std::string& assignment : options.overrides) apply_override(file, assignment);
  for (const FlagValue& flag : options.flags) apply_override(file, flag.key, flag.value, flag.shown);
  return read_simulate_section(file);
}

std::string yaml_quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return quoted + "\"";
}

std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                             "0123456789_-+=.,:/@%") == std::string::npos;
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_words(const ScenarioOptions& options) {
  std::string words;
  const auto add = [&](const std::string& word) { words += (words.empty() ? "" : " ") + shell_word(word); };
  if (!options.scenario.empty()) add(options.scenario);
  for (const std::string& assignment : options.overrides) {
    add("--set");
    add(assignment);
  }
  for (const FlagKey& flag : flag_keys) {
    if ((options.*flag.value).empty()) continue;
    add(flag.flag);
    add(options.*flag.value);
  }
  return words;
}

PlanSet plan_scenario(const Scenario& scenario, const std::vector<std::int64_t>& pack_sizes) {
  try {
    return make_plans(scenario.model, scenario.engine, scenario.limits, pack_sizes, scenario.workspace);
  } catch (const SpecError& error) {
    throw located(error, scenario);
  }
}

}  // namespace hybridkv
