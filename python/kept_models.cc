#include "python/kept_models.h"

#include <nanobind/stl/string.h>

#include <filesystem>
#include <string>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "planner/plan.h"
#include "python/question.h"
#include "python/tree.h"
#include "scenarios/model_library.h"
#include "scenarios/model_reader.h"
#include "scenarios/read.h"

namespace hybridkv {

namespace nb = nanobind;

namespace {

/// What tells two states of a model's file apart; of a shipped model nothing ever changes.
struct FileState {
  std::filesystem::path path;  ///< absolute: the same name in another folder is another file
  std::filesystem::file_time_type written;
  std::uintmax_t bytes = 0;
  bool operator==(const FileState&) const = default;
};

FileState state_of(const std::string& model) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(config_in(model), error);
  const auto written = std::filesystem::last_write_time(path, error);
  if (error) return {};
  const auto bytes = std::filesystem::file_size(path, error);
  return error ? FileState{} : FileState{path, written, bytes};
}

/// A question as it was read last; the next one reads its sections again.
struct Kept {
  FileState state;
  Scenario scenario;
};

constexpr std::size_t most_kept = 256;

/// Looked at with Python's lock alone.
std::unordered_map<std::string, Kept>& kept_models() {
  static std::unordered_map<std::string, Kept> models;
  return models;
}

/// The question without its model: the sections that follow from the keywords; nothing where there are others.
std::optional<ScenarioFile> sections_of(const nb::dict& keys, std::string& model) {
  nb::dict rest;
  for (const auto& [name, value] : keys) {
    if (text_of(name) == "model") {
      if (!is_text(value)) return std::nullopt;
      model = text_of(value);
    } else {
      rest[name] = value;
    }
  }
  if (model.empty()) return std::nullopt;
  ScenarioFile file = question_of(nb::none(), rest);
  for (const YamlEntry& entry : file.root.entries)
    if (entry.key != "engine" && entry.key != "limits") return std::nullopt;
  if (file.root.entries.size() != 2) return std::nullopt;
  for (const YamlEntry& section : file.root.entries)
    for (const YamlEntry& entry : section.value.entries)
      if (entry.value.kind != YamlNode::Kind::scalar) return std::nullopt;
  return file;
}

Scenario& kept(const std::string& model, const ScenarioFile& sections) {
  const FileState state = state_of(model);
  auto& models = kept_models();
  if (const auto found = models.find(model); found != models.end() && found->second.state == state)
    return found->second.scenario;
  if (models.size() >= most_kept) models.clear();
  ScenarioFile whole = sections;
  YamlNode name;
  name.kind = YamlNode::Kind::scalar;
  name.text = model;
  name.place = name.key_place = sections.root.place;
  apply_override(whole, "model", model_node(std::move(name)));
  Scenario scenario = read_scenario(whole);
  return models.insert_or_assign(model, Kept{state, std::move(scenario)}).first->second.scenario;
}

}  // namespace

std::optional<PlanSet> plan_of_kept_model(const nb::dict& keys) {
  try {
    std::string model;
    const std::optional<ScenarioFile> file = sections_of(keys, model);
    if (!file) return std::nullopt;
    Scenario& scenario = kept(model, *file);
    scenario.pack_sizes = {1};
    read_section(file->root, "engine", scenario);
    read_section(file->root, "limits", scenario);
    if (scenario.pack_sizes.size() != 1) return std::nullopt;
    return make_plans(scenario.model, scenario.engine, scenario.limits, scenario.pack_sizes, std::nullopt,
                      PlanDetail::numbers);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace hybridkv
