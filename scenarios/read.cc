#include "scenarios/read.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/suggest.h"
#include "scenarios/embedded_files.h"
#include "scenarios/model_library.h"
#include "scenarios/model_reader.h"
#include "scenarios/scenario_keys.h"
#include "scenarios/simulate_keys.h"
#include "scenarios/sweep_axes.h"

namespace hybridkv {

namespace {

std::string without_ending(const std::string& name) {
  for (const char* ending : {".yaml", ".yml", ".json"})
    if (name.ends_with(ending)) return name.substr(0, name.size() - std::string_view(ending).size());
  return name;
}

/// Shipped scenarios that reproduce published numbers have a folder of their own; names leave it out.
constexpr std::string_view published_folder = "published/";

/// The embedded text of a shipped scenario, empty for any other name.
std::string_view shipped_text(const std::string& name) {
  for (const EmbeddedFile& file : embedded_files())
    if (file.path == name + ".yaml" || file.path == std::string(published_folder) + name + ".yaml") return file.text;
  return {};
}

/// The keys of a dotted path; empty where one of them is.
std::vector<std::string> keys_of(std::string_view path) {
  std::vector<std::string> keys;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    if (end == begin) return {};
    keys.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return keys;
}

/// Replaces the value at a path, making the mappings on the way that are missing.
void replace(YamlNode& root, const std::string& path, YamlNode value) {
  YamlNode* node = &root;
  std::string passed;
  for (const std::string& key : keys_of(path)) {
    if (node->kind == YamlNode::Kind::nothing) node->kind = YamlNode::Kind::mapping;
    if (node->kind != YamlNode::Kind::mapping)
      throw error_at(value.place, fmt::format("{} is {}, which has no key '{}'; set {} as a whole", passed,
                                              describe(*node), key, passed));
    passed = path_of(passed, key);
    YamlNode* next = node->find(key);
    if (!next) {
      // A flag is the place of what it says, not of the sections on the way there, in which others may be missing.
      YamlNode missing;
      missing.place = missing.key_place = node->place;
      node->entries.push_back({key, std::move(missing)});
      next = &node->entries.back().value;
    }
    node = next;
  }
  *node = std::move(value);
}

ScenarioFile checked_file(std::string name, YamlNode root) {
  if (root.kind == YamlNode::Kind::nothing)
    throw error_at(root.place, "holds no values; a scenario needs at least the keys model, engine and limits");
  return {std::move(name), std::move(root)};
}

/// A scenario of a model and nothing else; `model` is the value of its key.
ScenarioFile model_alone(const std::string& name, const std::string& model, const std::string& shown_as) {
  ScenarioFile file = checked_file(name, parse_flag_value("{}", {shown_as, "", {}}));
  apply_override(file, "model", model, shown_as);
  file.is_model_alone = true;
  return file;
}

/// Is it the name of a file and of nothing else? "organisation/model" may also be a model.
bool names_file(const std::string& text) {
  return text.front() == '.' || text.front() == '/' || without_ending(text) != text;
}

/// Why nothing is called that, with the closest names of scenarios and models.
std::string unknown_scenario(const std::string& name) {
  std::vector<std::string> names = shipped_scenarios();
  for (const std::string& model : shipped_model_names()) names.push_back(model);
  const std::string meant = did_you_mean(name, names);
  return ", nor a scenario or a model that comes with hybridkv" +
         (meant.empty() ? fmt::format("; scenarios: {}; `hybridkv models` lists the models",
                                      fmt::join(shipped_scenarios(), ", "))
                        : meant);
}

}  // namespace

std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files())
    if (!file.path.starts_with("models/")) {
      const bool published = file.path.starts_with(published_folder);
      names.push_back(without_ending(std::string(file.path.substr(published ? published_folder.size() : 0))));
    }
  return names;
}

ScenarioFile parse_scenario(std::string_view yaml, const std::string& shown_as, const std::string& directory) {
  const std::string name = without_ending(std::filesystem::path(shown_as).filename().string());
  return checked_file(name, parse_yaml(yaml, {shown_as, directory, {}}));
}

ScenarioFile load_scenario(const std::string& name_or_path) {
  if (name_or_path.empty()) throw InputError("the name of the scenario is empty");
  const std::string stem = without_ending(std::filesystem::path(name_or_path).filename().string());
  const bool is_path = stem != name_or_path;
  if (!is_path && !shipped_text(name_or_path).empty())
    return checked_file(name_or_path,
                        parse_yaml(shipped_text(name_or_path), {"shipped:" + name_or_path + ".yaml", "", {}}));
  if (!is_path && find_shipped_model(name_or_path)) return model_alone(stem, yaml_quoted(name_or_path), name_or_path);
  const std::string path = config_in(name_or_path);
  const FileText file = read_text_file(path);
  const std::string shown = input_name(path);
  if (!file.problem.empty()) {
    if (find_shipped_model(name_or_path)) return model_alone(stem, yaml_quoted(name_or_path), name_or_path);
    std::string advice;
    if (!shipped_text(stem).empty())
      advice = fmt::format("; a scenario '{}' is shipped and found by that name", stem);
    else if (!names_file(name_or_path))
      advice = unknown_scenario(stem);
    throw InputError(fmt::format("{}: {}{}", shown, file.problem, advice));
  }
  YamlNode root =
      parse_yaml_or_json(file.text, {shown, std::filesystem::path(path).parent_path().string(), {}});
  if (is_model(root)) return model_alone(stem, fmt::format("{{file: {}}}", yaml_quoted(path)), shown);
  return checked_file(path == standard_input ? "stdin" : stem, std::move(root));
}

bool says_any(const ScenarioFile& file, std::string_view section, std::initializer_list<std::string_view> keys) {
  const YamlNode* const mapping = file.root.find(section);
  return mapping != nullptr &&
         std::any_of(keys.begin(), keys.end(), [&](std::string_view key) { return mapping->find(key) != nullptr; });
}

void check_model(const ScenarioFile& file) {
  const YamlNode* const model = file.root.find("model");
  ReadContext context;
  if (model && model->kind == YamlNode::Kind::list) {
    for (const YamlNode& item : model->items) read_model(context, "model", item);
  } else if (model) {
    read_model(context, "model", *model);
  }
}

void apply_override(ScenarioFile& file, std::string_view assignment, std::string_view flag) {
  const std::string shown_as = fmt::format("{} {}", flag, assignment);
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos)
    throw InputError(shown_as + ": write KEY=VALUE, like engine.tensor_parallel=4");
  apply_override(file, std::string(assignment.substr(0, equals)), assignment.substr(equals + 1), shown_as);
}

void apply_override(ScenarioFile& file, const std::string& path, std::string_view value, const std::string& shown_as) {
  if (keys_of(path).empty())
    throw InputError(fmt::format("{}: {} is no key; write KEY=VALUE, like engine.tensor_parallel=4", shown_as,
                                 in_quotes(path)));
  YamlNode node = parse_flag_value(value, {shown_as, "", {}});
  node.left_out = value == "null";  // as in a list of values: as if the key were not there
  replace(file.root, path, std::move(node));
}

void apply_override(ScenarioFile& file, const std::string& path, YamlNode value) {
  if (keys_of(path).empty()) throw InputError(fmt::format("{} is no key; write it like engine.tensor_parallel",
                                                          in_quotes(path)));
  replace(file.root, path, std::move(value));
}

Scenario read_values(const ScenarioFile& file) {
  ReadContext context;
  Scenario scenario;
  scenario.name = file.name;
  context.places.add("", Place{file.root.place.text, 0, 0});
  scenario_keys().read(context, "", file.root, scenario);
  if (!context.pack_sizes.empty()) {
    scenario.packs_given = true;
    scenario.pack_sizes = std::move(context.pack_sizes);
  }
  scenario.places = std::move(context.places);
  scenario.largest = std::move(context.largest);
  scenario.notes = std::move(context.notes);
  return scenario;
}

void read_section(const YamlNode& root, const std::string& section, Scenario& scenario) {
  ReadContext context;
  context.keep_places = false;
  scenario_keys().read_key(context, "", root, section, scenario);
  if (!context.pack_sizes.empty()) {
    scenario.packs_given = true;
    scenario.pack_sizes = std::move(context.pack_sizes);
  }
  if (section == "model") scenario.notes = std::move(context.notes);
  set_default_mode(root, scenario);
}

Scenario read_simulate_section(const ScenarioFile& file) {
  ReadContext context;
  Scenario scenario;
  scenario.name = file.name;
  context.places.add("", Place{file.root.place.text, 0, 0});
  if (const YamlNode* simulate = file.root.find("simulate"))
    simulate_keys().read(context, "simulate", *simulate, scenario.simulate);
  scenario.places = std::move(context.places);
  return scenario;
}

Scenario read_scenario(const ScenarioFile& file) {
  for (const SweepAxis& axis : sweep_axes(file))
    if (!axis.one_question)
      throw error_at(axis.place, axis.path + ": several values make a sweep (`hybridkv sweep`), or a table side by "
                                             "side (`hybridkv compare`); one value is expected here" +
                                         (axis.path == "engine.release" ? ", or --engines, where each answers" : ""));
  return read_values(file);
}

}  // namespace hybridkv
