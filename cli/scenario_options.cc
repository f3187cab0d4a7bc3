#include "cli/scenario_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <span>

#include "base/error.h"
#include "base/shell_word.h"
#include "cli/engine_command.h"
#include "cli/offers.h"
#include "cli/values.h"
#include "engines/engine.h"
#include "report/text.h"
#include "scenarios/flags_alone.h"
#include "scenarios/key_flags.h"
#include "scenarios/model_words.h"
#include "scenarios/number.h"
#include "scenarios/read.h"

namespace hybridkv {

namespace {

/// Where the values of key_flags are kept, one by one.
constexpr std::array flag_values{&ScenarioOptions::model,           &ScenarioOptions::release,
                                 &ScenarioOptions::backend_profile, &ScenarioOptions::pack,
                                 &ScenarioOptions::tensor_parallel, &ScenarioOptions::memory,
                                 &ScenarioOptions::max_model_len,   &ScenarioOptions::cache_mode,
                                 &ScenarioOptions::kv_dtype,        &ScenarioOptions::ssm_dtype};
static_assert(flag_values.size() == key_flags.size());

constexpr std::int64_t most_draft_tokens = 1'000;
constexpr const char* pack_help = "attention layers per page";
constexpr const char* length_help = "longest sequence in tokens, 32768 or 32k (k = 1,024)";

/// The name of the first engine whose rules are so; of the default where none are.
std::string_view first_engine_that(bool EngineRules::* is_so) {
  for (const EngineRules* const rules : all_engine_rules())
    if (rules->*is_so) return rules->name;
  return default_rules()->name;
}

/// The parts of a list with commas. Throws InputError where one is empty.
std::vector<std::string> parts_of(const std::string& flag, const std::string& text) {
  try {
    return split_list(flag, text);
  } catch (const CLI::ValidationError& error) {
    throw InputError(error.what());
  }
}

/// "1,2,4" as the YAML list it means; a single value, a range and a list in brackets stay as they are.
std::string list_value(const std::string& flag, const std::string& text) {
  if (text.find(',') == std::string::npos || text.front() == '[' || text.front() == '{') return text;
  if (flag == "--memory")
    if (const std::string digits = without_separators(text); !digits.empty())
      throw InputError(fmt::format("--memory {}: write it without separators: {}", text, digits));
  if (flag == "--max-model-len")
    if (const std::string digits = without_separators(text); !digits.empty())
      throw InputError(fmt::format("--max-model-len {}: write one number without separators: {}; several as \"[{}]\"",
                                   text, digits, text));
  return fmt::format("[{}]", fmt::join(parts_of(flag, text), ", "));
}

/// What --model takes, as the value of its key.
std::string model_value(const std::string& text) {
  return names_model_file(text) ? "{file: " + yaml_quoted(text) + "}" : yaml_quoted(text);
}

/// "Qwen3.5-4B,my-model.yaml" as the YAML list it means; a file may have a comma in its name.
std::string model_values(const std::string& text) {
  if (text.front() == '[' || text.front() == '{') return text;
  if (text.find(',') == std::string::npos || is_input_path(text)) return model_value(text);
  std::string list;
  for (const std::string& name : parts_of("--model", text)) list += (list.empty() ? "[" : ", ") + model_value(name);
  return list + "]";
}

/// "--memory 40 GB" has a unit for its scenario.
void refuse_lone_unit(const ScenarioOptions& options) {
  if (is_input_path(options.scenario)) return;
  const auto refuse = [&](const char* flag, const std::string& number) {
    throw InputError(fmt::format("{} {} {}: write number and unit as one word: {} {}{}", flag, number, options.scenario,
                                 flag, number, options.scenario));
  };
  const auto completes = [&](const std::string& number, auto parse) {
    const bool alone = !number.empty() && parse(number + options.scenario).problem.empty();
    return alone && !parse(options.scenario).problem.empty();
  };
  if (completes(options.memory, parse_size)) refuse("--memory", options.memory);
  if (completes(options.max_model_len, parse_tokens)) refuse("--max-model-len", options.max_model_len);
}

ScenarioFile load(const ScenarioOptions& options) {
  if (options.scenario.empty()) return flags_alone();
  refuse_lone_unit(options);
  if (options.scenario == standard_input && options.model == standard_input)
    throw InputError("SCENARIO and --model are both standard input, which can be read once; give one of them as a "
                     "file");
  ScenarioFile file = load_scenario(options.scenario);
  if (file.is_model_alone && !options.model.empty())
    throw InputError(fmt::format("{} is a model, and so is --model {}; give one of them", shell_word(options.scenario),
                                 options.model));
  return file;
}

/// What a plan cannot do without and no default can stand for, with a value that suits every model.
struct NeededFlag {
  std::string flag;
  std::string type;
  std::string example;
};

/// `takes_gpu`: the memory is left by a GPU that is named.
std::vector<NeededFlag> missing_flags(const ScenarioFile& file, bool takes_gpu) {
  std::vector<NeededFlag> missing;
  if (!file.root.find("model")) missing.push_back({"--model", "NAME", "Qwen3.5-4B"});
  if (!says_any(file, "engine", {"memory", "num_blocks"}))
    missing.push_back(takes_gpu ? NeededFlag{"--gpu", "NAME", "H100"} : NeededFlag{"--memory", "SIZE", "40GiB"});
  if (!says_any(file, "limits", {"max_model_len"})) missing.push_back({"--max-model-len", "TOKENS", "32k"});
  return missing;
}

/// A question that is built from flags alone lacks nothing; what it lacks is said at once, with a command that has it.
void require_whole_question(const ScenarioFile& file, const ScenarioOptions& options) {
  const auto option = [&](const char* name) {
    return options.command ? options.command->get_option_no_throw(name) : nullptr;
  };
  // Of explain a step alone is asked on a GPU.
  const CLI::Option* const step = option("--step");
  const bool takes_gpu = option("--gpu") != nullptr && (step == nullptr || !step->empty());
  const std::vector<NeededFlag> missing = missing_flags(file, takes_gpu);
  if (missing.empty()) return;
  std::string example = options.command ? typed_command(*options.command) : "hybridkv plan", needed, names;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const std::string flag = missing[i].flag + " " + missing[i].type;
    needed += " " + flag;
    names += (i == 0 ? "" : i + 1 == missing.size() ? " and " : ", ") + flag;
    example += fmt::format(" {} {}", missing[i].flag, missing[i].example);
  }
  const bool nothing_given = options.overrides.empty() && given_flags(options).empty() && !file.is_model_alone;
  if (nothing_given)
    throw InputError("nothing to plan: name a SCENARIO (a file, or one that comes with hybridkv: qwen3.5-397b,\n"
                     "example) or give" + needed + "; for example\n  " + example);
  check_model(file);
  throw InputError(fmt::format("nothing to plan: {} {} missing; for example\n  {}", names,
                               missing.size() == 1 ? "is" : "are", example));
}

/// Lays what was typed over the file, each wins over what comes before it: --set, the flags of key_flags where they are
/// wanted, the flags of the command itself.
void lay_over(ScenarioFile& file, const ScenarioOptions& options, bool with_key_flags) {
  for (const std::string& assignment : options.overrides) apply_override(file, assignment);
  for (std::size_t i = 0; with_key_flags && i < key_flags.size(); ++i) {
    const std::string& text = options.*flag_values[i];
    if (text.empty()) continue;
    const std::string flag(key_flags[i].flag), key(key_flags[i].key);
    apply_override(file, key, key == "model" ? model_values(text) : list_value(flag, text), flag + " " + text);
  }
  for (const FlagValue& flag : options.flags) apply_override(file, flag.key, flag.value, flag.shown);
}

}  // namespace

void add_scenario_options(CLI::App& command, ScenarioOptions& options) {
  command
      .add_option("SCENARIO", options.scenario,
                  "scenario file, - for standard input, the name of one that comes with hybridkv (qwen3.5-397b, "
                  "example), or a model as --model takes it")
      ->type_name("");
  add_scenario_flags(command, options);
}

void add_scenario_flags(CLI::App& command, ScenarioOptions& options) {
  options.command = &command;
  command.add_option("--set", options.overrides, "override a scenario value, or take it back by null; may be repeated")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option("--model", options.model,
                  "model by name (see `hybridkv models`) or file: a model file, a published config.json or its folder, "
                  "- for standard input")
      ->check(offers({{offered_models, offered_files}, true}))
      ->type_name("NAME");
  command
      .add_option("--engine", options.release,
                  fmt::format("release whose rules the plan follows: {} (default: the scenario's, else {})",
                              fmt::join(release_names(), " or "), engine_of_today().rules->name))
      ->check(offers({{offered_words_of("engine.release")}, true}))
      ->type_name("RELEASE");
  command
      .add_option("--backend-profile", options.backend_profile,
                  fmt::format("what the backends of a machine declare: {} (default: sm90 from {} on)",
                              fmt::join(names_of(backend_profile_names), ", "),
                              first_engine_that(&EngineRules::one_allocation)))
      ->check(offers({{offered_words_of("engine.backend_profile")}, true}))
      ->type_name("NAME");
  command.add_option("--pack", options.pack, fmt::format("{}, a list or a range: 1,2,4 or 1..16", pack_help))
      ->type_name("LIST");
  command.add_option("--tp", options.tensor_parallel, "tensor parallel ranks")->type_name("RANKS");
  command
      .add_option("--memory", options.memory,
                  "memory for all pools of one rank: 40GiB or 40G (powers of 1,024), 40GB (powers of 1,000)")
      ->type_name("SIZE");
  command
      .add_option("--max-model-len", options.max_model_len, fmt::format("{}; a list gives each", length_help))
      ->type_name("TOKENS");
  command
      .add_option("--mode", options.cache_mode,
                  fmt::format("where states are kept for prefix caching: none, align or all (default: the scenario's, "
                              "else as the release does it: align from {} on)",
                              first_engine_that(&EngineRules::caches_by_default)))
      ->check(offers({{offered_words_of("engine.cache_mode")}, true}))
      ->type_name("MODE");
  command
      .add_option("--kv-dtype", options.kv_dtype,
                  "element type of K and V: bf16, fp8, int8_per_token_head, nvfp4, ... (default: the model's)")
      ->check(offers({{offered_words_of("engine.kv_dtype")}, true}))
      ->type_name("DTYPE");
  command.add_option("--ssm-dtype", options.ssm_dtype, "element type of recurrent states (default: the model's)")
      ->check(offers({{offered_words_of("engine.ssm_dtype")}, true}))
      ->type_name("DTYPE");
  const auto draft = [&options](const std::string& tokens) {
    options.overrides.push_back("engine.speculative_tokens=" + tokens);
    options.overrides.push_back("engine.mtp_layers=1");
  };
  command
      .add_option_function<std::string>("--mtp", draft,
                                        "draft so many tokens a step by the model's own MTP layer, which joins its "
                                        "attention layers")
      ->check(whole_number(1, most_draft_tokens))
      ->type_name("TOKENS");
  add_engine_command(command, options);
}

void describe_one_pack(CLI::App& command) {
  command.get_option("--pack")
      ->description(fmt::format("{}: one; of several in a file the first", pack_help))
      ->type_name("N");
}

void describe_one_length(CLI::App& command) {
  command.get_option("--max-model-len")
      ->description(fmt::format("{}: one; of several in a file the longest", length_help));
}

void add_zip_option(CLI::App& command, std::vector<std::string>& zips) {
  command
      .add_option("--zip", zips,
                  "keys whose values go together, the first with the first, in place of every combination; may be "
                  "repeated")
      ->type_name("KEY,KEY")
      ->take_all()
      ->allow_extra_args(false);
}

std::vector<ZippedKeys> zipped_keys(const std::vector<std::string>& zips) {
  std::vector<ZippedKeys> keys;
  for (const std::string& zip : zips) keys.push_back(parts_of("--zip", zip));
  return keys;
}

FlagValue varied_values(const std::string& flag, const std::string& assignment) {
  const std::string shown = flag + " " + assignment;
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == assignment.size())
    throw InputError(shown + ": write KEY=VALUE,VALUE, like engine.tensor_parallel=1,2");
  const std::string key = assignment.substr(0, equals), values = assignment.substr(equals + 1);
  return {key, key == "model" ? model_values(values) : list_value(shown, values), shown};
}

const FlagValue* flag_of(const ScenarioOptions& options, const std::string& key) {
  const auto found = std::find_if(options.flags.rbegin(), options.flags.rend(),
                                  [&](const FlagValue& flag) { return flag.key == key; });
  return found == options.flags.rend() ? nullptr : &*found;
}

std::string* option_of_key(ScenarioOptions& options, std::string_view key) {
  for (std::size_t i = 0; i < key_flags.size(); ++i)
    if (key_flags[i].key == key) return &(options.*flag_values[i]);
  return nullptr;
}

std::string typed_command(const CLI::App& command) {
  std::string words = "hybridkv " + command.get_name();
  std::set<const CLI::Option*> seen;
  for (const CLI::Option* option : command.parse_order()) {
    if (!seen.insert(option).second) continue;
    const std::string name = option->get_lnames().empty() ? "" : " --" + option->get_lnames().front();
    if (option->get_items_expected_max() == 0) words += name;
    else
      for (const std::string& value : option->results()) words += name + " " + shell_word(value);
  }
  return words;
}

std::vector<std::pair<std::string, std::string>> given_flags(const ScenarioOptions& options) {
  std::vector<std::pair<std::string, std::string>> given;
  for (std::size_t i = 0; i < key_flags.size(); ++i)
    if (const std::string& text = options.*flag_values[i]; !text.empty()) given.emplace_back(key_flags[i].flag, text);
  return given;
}

void lay_over(ScenarioFile& file, const ScenarioOptions& options) { lay_over(file, options, true); }

ScenarioFile scenario_file(const ScenarioOptions& options) {
  ScenarioFile file = load(options);
  lay_over(file, options);
  if (!options.scenario.empty() && !file.is_model_alone) return file;
  if (options.fill) options.fill(file);
  require_whole_question(file, options);
  return file;
}

Scenario read_scenario(const ScenarioOptions& options) {
  Scenario scenario = read_scenario(scenario_file(options));
  show_notes(scenario.notes);
  return scenario;
}

std::vector<std::string> inputs_of(const Scenario& scenario) {
  std::vector<std::string> files = scenario.places.sources();
  files.push_back(scenario.simulate.trace.file);
  return files;
}

void show_notes(const std::vector<std::string>& notes) {
  constexpr std::size_t columns = 100;
  for (const std::string& note : notes)
    for (const std::string& line : wrap("hybridkv: " + note, columns)) fmt::print(stderr, "{}\n", line);
}

Scenario read_simulate_section(const ScenarioOptions& options) {
  ScenarioFile file = flags_alone();
  lay_over(file, options, false);
  return read_simulate_section(file);
}

CommandWords command_words(const ScenarioOptions& options) {
  CommandWords words{.scenario = options.scenario, .overrides = options.overrides, .values = {}, .replay = {}};
  for (std::size_t i = 0; i < key_flags.size(); ++i) words.values[i] = options.*flag_values[i];
  return words;
}

std::string shell_words(const ScenarioOptions& options) { return shell_words(command_words(options)); }

}  // namespace hybridkv
