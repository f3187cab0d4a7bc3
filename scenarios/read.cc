#include "scenarios/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "scenarios/embedded_files.h"
#include "scenarios/model_keys.h"
#include "scenarios/number.h"
#include "scenarios/scenario_keys.h"
#include "scenarios/simulate_keys.h"
#include "scenarios/suggest.h"

namespace hybridkv {

namespace {

constexpr std::size_t most_points = 10'000;
constexpr std::string_view pack_size_path = "engine.attention_pack_size";

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

/// An axis with the node that each of its values puts in place of the list or range.
struct NodeAxis {
  std::string path;
  Place place;
  std::vector<YamlNode> values;
};

/// How a value is called in a table of points.
std::string text_of(const YamlNode& value) {
  if (value.kind == YamlNode::Kind::scalar) return value.text;
  for (const char* key : {"file", "name"})
    if (const YamlNode* name = value.find(key); name && name->kind == YamlNode::Kind::scalar) return name->text;
  return describe(value);
}

bool is_swept(const YamlNode& node, const KeyInfo& key) {
  if (!key.sweepable) return false;
  return node.kind == YamlNode::Kind::list ||
         (node.kind == YamlNode::Kind::scalar && key.type == ValueType::integer && is_range(node.text));
}

/// Appends the values of a list or range to an axis.
void add_values(NodeAxis& axis, const YamlNode& node, const KeyInfo& key) {
  if (node.kind == YamlNode::Kind::list) {
    for (const YamlNode& item : node.items) {
      if (item.kind == YamlNode::Kind::list) throw error_at(item.place, axis.path + ": a list inside a list");
      add_values(axis, item, key);
    }
  } else if (is_swept(node, key)) {
    const ParsedRange range = parse_range(node.text);
    if (!range.problem.empty())
      throw error_at(node.place, fmt::format("{}: the range {} {}", axis.path, in_quotes(node.text), range.problem));
    for (const std::int64_t value : range.values) {
      axis.values.push_back(node);
      axis.values.back().text = std::to_string(value);
      axis.values.back().quoted = false;
    }
  } else {
    axis.values.push_back(node);
  }
  if (axis.values.size() > most_points)
    throw error_at(node.place, fmt::format("{}: more than {} values", axis.path, most_points));
}

NodeAxis axis_of(const std::string& path, const YamlNode& node, const KeyInfo& key) {
  NodeAxis axis{path, node.place, {}};
  add_values(axis, node, key);
  if (axis.values.empty()) throw error_at(node.place, path + ": an empty list; give at least one value");
  std::map<std::string, const YamlNode*> seen;
  for (const YamlNode& value : axis.values)
    if (value.kind == YamlNode::Kind::scalar && !seen.emplace(value.text, &value).second)
      throw error_at(value.place, fmt::format("{}: {} is given twice", path, in_quotes(value.text)));
  return axis;
}

/// Collects the axes below one mapping. Unknown keys and wrong types are left to the reader.
void collect_axes(std::vector<NodeAxis>& axes, const std::string& path, const YamlNode& node,
                  const SectionInfo& section) {
  for (const YamlEntry& entry : node.entries) {
    const KeyInfo* key = section.find(entry.key);
    if (!key) continue;
    const std::string key_path = path_of(path, entry.key);
    if (is_swept(entry.value, *key)) {
      axes.push_back(axis_of(key_path, entry.value, *key));
    } else if (key->type == ValueType::sections) {
      continue;  // nothing inside a list of mappings is swept
    } else if (key->section) {
      collect_axes(axes, key_path, entry.value, *key->section);
    } else if (key->type == ValueType::model) {
      collect_axes(axes, key_path, entry.value, model_keys().info());
    } else if (key->type == ValueType::kinds) {
      for (const YamlEntry& kind : entry.value.entries)
        for (const KindSection& known : kind_sections())
          if (const YamlNode* type = kind.value.find("type"); type && type->text == known.type)
            collect_axes(axes, path_of(key_path, kind.key), kind.value, *known.info);
    }
  }
}

std::vector<NodeAxis> node_axes(const ScenarioFile& file) {
  std::vector<NodeAxis> axes;
  collect_axes(axes, "", file.root, scenario_keys().info());
  return axes;
}

/// The axes over which `expand` makes points.
std::vector<NodeAxis> point_axes(const ScenarioFile& file) {
  std::vector<NodeAxis> axes = node_axes(file);
  std::erase_if(axes, [](const NodeAxis& axis) { return axis.path == pack_size_path; });
  return axes;
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
      YamlNode missing;
      missing.place = missing.key_place = value.place;
      node->entries.push_back({key, std::move(missing)});
      next = &node->entries.back().value;
    }
    node = next;
  }
  *node = std::move(value);
}

Scenario read_point(const ScenarioFile& file, const YamlNode& root) {
  ReadContext context;
  Scenario scenario;
  scenario.name = file.name;
  context.places.add("", Place{root.place.text, 0, 0});
  scenario_keys().read(context, "", root, scenario);
  if (!context.pack_sizes.empty()) scenario.pack_sizes = std::move(context.pack_sizes);
  scenario.places = std::move(context.places);
  return scenario;
}

ScenarioFile checked_file(std::string name, YamlNode root) {
  if (root.kind == YamlNode::Kind::nothing)
    throw error_at(root.place, "holds no values; a scenario needs at least the keys model, engine and limits");
  return {std::move(name), std::move(root)};
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
  const FileText file = read_text_file(name_or_path);
  if (!file.problem.empty()) {
    std::string advice;
    if (!shipped_text(stem).empty())
      advice = fmt::format("; a scenario '{}' is shipped and found by that name", stem);
    else if (!is_path)
      advice = ", nor a shipped scenario" + suggestion(name_or_path, shipped_scenarios(), "shipped:");
    throw InputError(fmt::format("{}: {}{}", name_or_path, file.problem, advice));
  }
  return parse_scenario(file.text, name_or_path, std::filesystem::path(name_or_path).parent_path().string());
}

void apply_override(ScenarioFile& file, std::string_view assignment) {
  const std::string shown_as = "--set " + std::string(assignment);
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos)
    throw InputError(shown_as + ": write KEY=VALUE, like engine.tensor_parallel=4");
  apply_override(file, std::string(assignment.substr(0, equals)), assignment.substr(equals + 1), shown_as);
}

void apply_override(ScenarioFile& file, const std::string& path, std::string_view value, const std::string& shown_as) {
  if (keys_of(path).empty())
    throw InputError(fmt::format("{}: {} is no key; write KEY=VALUE, like engine.tensor_parallel=4", shown_as,
                                 in_quotes(path)));
  replace(file.root, path, parse_flag_value(value, {shown_as, "", {}}));
}

std::vector<SweepAxis> sweep_axes(const ScenarioFile& file) {
  std::vector<SweepAxis> axes;
  for (const NodeAxis& axis : node_axes(file)) {
    axes.push_back({axis.path, {}});
    for (const YamlNode& value : axis.values) axes.back().values.push_back(text_of(value));
  }
  return axes;
}

std::vector<Scenario> expand(const ScenarioFile& file) {
  const std::vector<NodeAxis> axes = point_axes(file);
  std::size_t points = 1;
  for (const NodeAxis& axis : axes) {
    points *= axis.values.size();
    if (points > most_points) throw error_at(axis.place, fmt::format("a sweep of more than {} points", most_points));
  }
  std::vector<Scenario> scenarios;
  for (std::size_t point = 0; point < points; ++point) {
    YamlNode root = file.root;
    std::vector<SweepValue> values;
    std::size_t rest = point;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      const YamlNode& value = axis->values[rest % axis->values.size()];
      rest /= axis->values.size();
      replace(root, axis->path, value);
      values.insert(values.begin(), {axis->path, text_of(value)});
    }
    scenarios.push_back(read_point(file, root));
    scenarios.back().point = std::move(values);
  }
  return scenarios;
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
  const std::vector<NodeAxis> axes = point_axes(file);
  if (!axes.empty())
    throw error_at(axes.front().place, axes.front().path + ": several values make a sweep; one value is expected here");
  return std::move(expand(file).front());
}

}  // namespace hybridkv
