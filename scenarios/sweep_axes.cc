#include "scenarios/sweep_axes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/add_once.h"
#include "base/error.h"
#include "base/suggest.h"
#include "scenarios/model_keys.h"
#include "scenarios/model_reader.h"
#include "scenarios/number.h"
#include "scenarios/scenario_keys.h"

namespace hybridkv {

namespace {

constexpr std::size_t most_axis_values = 10'000;  // of an axis
constexpr std::size_t most_kept_models = 256;

/// An axis with the nodes that its values put in place of the list or range, and the keys that lead there.
struct NodeAxis {
  SweepAxis axis;
  std::vector<std::string> route;
  std::vector<YamlNode> values;
};

/// How a value is called in a table of points: 32k tokens are the number 32768 there.
std::string text_of(const YamlNode& value, NumberForm form) {
  if (value.kind == YamlNode::Kind::scalar) {
    const ParsedNumber number = parse_whole(value.text, form);
    return form == NumberForm::tokens && number.problem.empty() ? std::to_string(number.value) : value.text;
  }
  if (value.kind == YamlNode::Kind::nothing) return "";
  if (value.kind == YamlNode::Kind::list) {
    std::string text;
    for (const YamlNode& item : value.items) text += (text.empty() ? "" : ", ") + text_of(item, form);
    return "[" + text + "]";
  }
  for (const char* key : {"file", "name"})
    if (const YamlNode* name = value.find(key); name && name->kind == YamlNode::Kind::scalar) return name->text;
  return describe(value);
}

bool is_range_of(const YamlNode& node, const KeyInfo& key) {
  if (node.kind != YamlNode::Kind::scalar || node.quoted) return false;
  if (key.type == ValueType::size) return is_size_range(node.text);
  return (key.type == ValueType::integer || key.type == ValueType::integers) && is_range(node.text, key.form);
}

/// Is one value of this key a list?
bool takes_list(const KeyInfo& key) { return key.type == ValueType::integers && !key.one_question; }

bool is_swept(const YamlNode& node, const KeyInfo& key) {
  if (!key.sweepable) return false;
  if (node.kind != YamlNode::Kind::list) return !takes_list(key) && is_range_of(node, key);
  const auto is_list = [](const YamlNode& item) { return item.kind == YamlNode::Kind::list; };
  return !takes_list(key) || std::any_of(node.items.begin(), node.items.end(), is_list);
}

YamlNode scalar_at(const YamlNode& node, std::string text) {
  YamlNode scalar = node;
  scalar.text = std::move(text);
  return scalar;
}

void add_range(NodeAxis& axis, const YamlNode& node, const KeyInfo& key) {
  const auto check = [&](const std::string& problem) {
    if (!problem.empty()) fail_at(node.place, "{}: the range {} {}", axis.axis.path, in_quotes(node.text), problem);
  };
  if (key.type == ValueType::size) {
    const ParsedSizeRange range = parse_size_range(node.text);
    check(range.problem);
    for (const std::string& size : range.values) axis.values.push_back(scalar_at(node, size));
    return;
  }
  const ParsedRange range = parse_range(node.text, key.form);
  check(range.problem);
  for (const std::int64_t value : range.values) axis.values.push_back(scalar_at(node, std::to_string(value)));
}

/// Appends a value of a list, or the list or range itself.
void add_values(NodeAxis& axis, const YamlNode& node, const KeyInfo& key, bool in_list) {
  if (node.kind == YamlNode::Kind::list && !in_list) {
    for (const YamlNode& item : node.items) add_values(axis, item, key, true);
  } else if (node.kind == YamlNode::Kind::list && !takes_list(key)) {
    throw error_at(node.place, axis.axis.path + ": a list inside a list");
  } else if (!takes_list(key) && is_range_of(node, key)) {
    add_range(axis, node, key);
  } else {
    axis.values.push_back(node);
    // "null" in a list: the default, as if the key were not there.
    axis.values.back().left_out = node.kind == YamlNode::Kind::nothing && !key.required;
  }
  if (axis.values.size() > most_axis_values)
    fail_at(node.place, "{}: more than {} values", axis.axis.path, most_axis_values);
}

NodeAxis axis_of(const std::string& path, std::vector<std::string> route, const YamlNode& node, const KeyInfo& key) {
  NodeAxis axis{{path, {}, key.type, key.one_question, node.place}, std::move(route), {}};
  add_values(axis, node, key, false);
  if (axis.values.empty()) throw error_at(node.place, path + ": an empty list; give at least one value");
  std::set<std::string> seen;
  for (const YamlNode& value : axis.values) {
    axis.axis.values.push_back(text_of(value, key.form));
    const bool is_plain = value.kind == YamlNode::Kind::scalar || value.kind == YamlNode::Kind::nothing;
    if (is_plain && !seen.insert(axis.axis.values.back()).second)
      fail_at(value.place, "{}: {} is given twice", path, value.text.empty() ? "null" : in_quotes(value.text));
  }
  return axis;
}

/// The keys of a kind of layer, by its type; null where there is no such type.
const SectionInfo* kind_section(const YamlNode& kind) {
  const YamlNode* const type = kind.find("type");
  for (const KindSection& known : kind_sections())
    if (type && type->text == known.type) return known.info;
  return nullptr;
}

/// Collects the axes below the mapping that a route leads to. Unknown keys and wrong types are left to the reader.
void collect_axes(std::vector<NodeAxis>& axes, const std::vector<std::string>& route, const std::string& path,
                  const YamlNode& node, const SectionInfo& section) {
  for (const YamlEntry& entry : node.entries) {
    const KeyInfo* key = section.find(entry.key);
    if (!key) continue;
    const std::string key_path = path_of(path, entry.key);
    std::vector<std::string> key_route = route;
    key_route.push_back(entry.key);
    if (is_swept(entry.value, *key)) {
      axes.push_back(axis_of(key_path, std::move(key_route), entry.value, *key));
    } else if (key->type == ValueType::sections) {
      continue;  // nothing inside a list of mappings is swept
    } else if (key->section) {
      collect_axes(axes, key_route, key_path, entry.value, *key->section);
    } else if (key->type == ValueType::model) {
      collect_axes(axes, key_route, key_path, entry.value, model_keys().info());
    } else if (key->type == ValueType::kinds) {
      for (const YamlEntry& kind : entry.value.entries) {
        std::vector<std::string> kind_route = key_route;
        kind_route.push_back(kind.key);
        if (const SectionInfo* const keys = kind_section(kind.value))
          collect_axes(axes, kind_route, path_of(key_path, kind.key), kind.value, *keys);
      }
    }
  }
}

std::vector<NodeAxis> node_axes(const ScenarioFile& file) {
  std::vector<NodeAxis> axes;
  collect_axes(axes, {}, "", file.root, scenario_keys().info());
  return axes;
}

YamlNode* node_at(YamlNode& root, const std::vector<std::string>& route) {
  YamlNode* node = &root;
  for (const std::string& key : route) {
    const auto is_meant = [&](const YamlEntry& entry) { return entry.key == key; };
    node = &std::find_if(node->entries.begin(), node->entries.end(), is_meant)->value;  // also what is left out
  }
  return node;
}

/// The axis that a zip names; nothing where none varies under that name.
std::optional<std::size_t> zipped_axis(const std::vector<SweepAxis>& axes, const std::string& key) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].path == key || axes[i].path.ends_with("." + key)) return i;
  return std::nullopt;
}

/// The axes of one zip. Throws InputError where they cannot go together.
std::vector<std::size_t> axes_of_zip(const std::vector<SweepAxis>& axes, const ZippedKeys& zip) {
  const std::string flag = fmt::format("--zip {}", fmt::join(zip, ","));
  if (zip.size() < 2) throw InputError(flag + ": zips two keys or more, like engine.tensor_parallel,engine.memory");
  std::vector<std::size_t> together;
  for (const std::string& key : zip) {
    const std::optional<std::size_t> axis = zipped_axis(axes, key);
    if (!axis) {
      std::vector<std::string> varying;
      const bool is_path = key.find('.') != std::string::npos;
      for (const SweepAxis& one : axes)
        varying.push_back(is_path ? one.path : one.path.substr(one.path.rfind('.') + 1));
      throw InputError(fmt::format("{}: {} has no several values{}", flag, key,
                                   varying.empty() ? std::string("; give it some, like --tp 1,2,4")
                                                   : suggestion(key, varying, "those that have some are")));
    }
    const SweepAxis& first = axes[together.empty() ? *axis : together.front()];
    if (axes[*axis].values.size() != first.values.size())
      throw InputError(fmt::format("{}: {} has {} values and {} has {}; give them as many", flag, first.path,
                                   first.values.size(), axes[*axis].path, axes[*axis].values.size()));
    if (std::find(together.begin(), together.end(), *axis) != together.end())
      throw InputError(fmt::format("{}: {} stands there twice", flag, axes[*axis].path));
    together.push_back(*axis);
  }
  return together;
}

/// (axis) the first axis of its zip; itself where it is in none.
std::vector<std::size_t> first_of_zips(const std::vector<SweepAxis>& axes, const std::vector<ZippedKeys>& zips) {
  std::vector<std::size_t> first(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) first[i] = i;
  std::set<std::size_t> zipped;
  for (const ZippedKeys& zip : zips) {
    const std::vector<std::size_t> together = axes_of_zip(axes, zip);
    for (const std::size_t axis : together) {
      if (!zipped.insert(axis).second)
        throw InputError(fmt::format("--zip {}: {} stands in another --zip; write all that go together in one",
                                     fmt::join(zip, ","), axes[axis].path));
      first[axis] = *std::min_element(together.begin(), together.end());
    }
  }
  return first;
}

/// A number however it was written: 32k is 32768, 40G is 42949672960; nothing for what is no number of that key.
std::optional<std::string> number_text(const std::string& text, const KeyInfo& key) {
  const auto digits = [](const ParsedNumber& number) {
    return number.problem.empty() ? std::optional(std::to_string(number.value)) : std::nullopt;
  };
  switch (key.type) {
    case ValueType::integer:
    case ValueType::integers: return digits(parse_whole(text, key.form));
    case ValueType::size: return digits(parse_size(text));
    case ValueType::number: {
      const ParsedReal real = parse_real(text);
      return real.problem.empty() ? std::optional(fmt::format("{}", real.value)) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

/// The keys of a mapping that is the value of `key`, or an item of its list; null where it has none of its own.
const SectionInfo* section_of(const KeyInfo& key) {
  return key.type == ValueType::model ? &model_keys().info() : key.section;
}

/// A text that two trees share exactly where they hold the same values. `key` is the one whose value the node is, null
/// where it is not known; `section` that of the keys of a mapping.
void write_identity(std::string& text, const YamlNode& node, const KeyInfo* key, const SectionInfo* section) {
  const auto add = [&](char kind, std::string_view words) {
    text += fmt::format("{}{}:{}", kind, words.size(), words);
  };
  switch (node.kind) {
    case YamlNode::Kind::nothing: text += 'n'; return;
    case YamlNode::Kind::scalar:
      if (const auto number = key ? number_text(node.text, *key) : std::nullopt) add('s', *number);
      else add(node.quoted ? 'q' : 's', node.text);
      return;
    case YamlNode::Kind::list:
      text += fmt::format("[{}", node.items.size());
      for (const YamlNode& item : node.items) write_identity(text, item, key, section);
      return;
    case YamlNode::Kind::mapping:
      text += fmt::format("{{{}", node.entries.size());
      for (const YamlEntry& entry : node.entries) {
        add('k', entry.key);
        const KeyInfo* const inner = section ? section->find(entry.key) : nullptr;
        const bool is_kind = key && key->type == ValueType::kinds;
        const SectionInfo* const keys_of_kind = is_kind ? kind_section(entry.value) : nullptr;
        write_identity(text, entry.value, inner, inner ? section_of(*inner) : keys_of_kind);
      }
      return;
  }
}

void write_model_files(std::string& text, const YamlNode& model) {
  for (const YamlNode& item : model.items) write_model_files(text, item);
  const YamlNode* file = model.find("file");
  if (file == nullptr || file->kind != YamlNode::Kind::scalar) return;
  const FileText content = read_text_file(model_file_path(*file));
  text += fmt::format("f{}:{}", content.text.size(), content.text);
}

/// The values of each axis are those that rows call by the same text: a size keeps its unit there.
std::string identity_of(const ScenarioFile& file, const std::vector<NodeAxis>& axes) {
  YamlNode root = file.root;
  for (const NodeAxis& axis : axes) node_at(root, axis.route)->kind = YamlNode::Kind::nothing;
  std::string text;
  write_identity(text, root, nullptr, &scenario_keys().info());
  for (const NodeAxis& axis : axes) {
    text += fmt::format("a{}:{}[{}", axis.axis.path.size(), axis.axis.path, axis.values.size());
    for (std::size_t i = 0; i < axis.values.size(); ++i) {
      const std::string& words = axis.axis.values[i];
      text += fmt::format("t{}:{}", words.size(), words);
      if (axis.values[i].kind == YamlNode::Kind::mapping)
        write_identity(text, axis.values[i], nullptr, &model_keys().info());
    }
  }
  if (const YamlNode* model = file.root.find("model")) write_model_files(text, *model);
  return text;
}

}  // namespace

/// What readers share.
struct ScenarioSweep::Parts {
  ScenarioFile first;                   // every axis at its first value
  std::vector<NodeAxis> axes;
  std::vector<std::int64_t> strides;    // (axis) points from one value to the next
  std::vector<std::size_t> model_axes;  // those inside `model`
  std::vector<ModelSpec> models;        // of every combination of their values, the first slowest; may be empty
};

/// Where a reader stands.
struct SweepReader::State {
  YamlNode root;
  std::vector<YamlNode*> nodes;     // (axis) into root
  std::vector<std::size_t> values;  // (axis) which one the node holds
  std::set<std::string> stale;      // sections in which a value changed since they were read
  Scenario scenario;
};

AxisSteps axis_steps(const std::vector<SweepAxis>& axes, const std::vector<ZippedKeys>& zips) {
  const std::vector<std::size_t> first = first_of_zips(axes, zips);
  AxisSteps steps;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (first[i] == i &&
        __builtin_mul_overflow(steps.num_points, static_cast<std::int64_t>(axes[i].values.size()), &steps.num_points))
      fail_at(axes[i].place, "{}: with its {} values the sweep has more points than 64 bits count", axes[i].path,
              axes[i].values.size());
  std::int64_t stride = steps.num_points;
  for (std::size_t i = 0; i < axes.size(); ++i)
    steps.strides.push_back(first[i] == i ? stride /= std::ssize(axes[i].values) : steps.strides[first[i]]);
  return steps;
}

std::vector<SweepAxis> sweep_axes(const ScenarioFile& file) {
  std::vector<SweepAxis> axes;
  for (NodeAxis& axis : node_axes(file)) axes.push_back(std::move(axis.axis));
  return axes;
}

ScenarioFile with_values(const ScenarioFile& file, const std::vector<AxisChoice>& choices) {
  ScenarioFile chosen = file;
  for (NodeAxis& axis : node_axes(file))
    for (const AxisChoice& choice : choices)
      if (choice.path == axis.axis.path) *node_at(chosen.root, axis.route) = std::move(axis.values.at(choice.value));
  return chosen;
}

ScenarioSweep::ScenarioSweep(const ScenarioFile& file, const std::vector<ZippedKeys>& zips)
    : parts_(std::make_unique<Parts>()) {
  parts_->first = file;
  parts_->axes = node_axes(file);
  for (const NodeAxis& axis : parts_->axes) axes_.push_back(axis.axis);
  AxisSteps steps = axis_steps(axes_, zips);
  num_points_ = steps.num_points;
  parts_->strides = std::move(steps.strides);
  for (const NodeAxis& axis : parts_->axes) {
    *node_at(parts_->first.root, axis.route) = axis.values.front();
  }
  SweepReader reader(*this);
  const auto collect_notes = [&](const Scenario& scenario) {
    for (const std::string& note : scenario.notes)
      add_once(notes_, note);
  };
  collect_notes(reader.at(0));
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    for (std::int64_t value = 1; value < std::ssize(axes_[axis].values); ++value)
      collect_notes(reader.at(value * parts_->strides[axis]));
  keep_models(reader);
  identity_ = identity_of(file, parts_->axes);
  for (const ZippedKeys& zip : zips) identity_ += fmt::format("z{}", fmt::join(zip, ","));
}

ScenarioSweep::~ScenarioSweep() = default;

/// Reading a model takes longer than planning it, so that those of all points are kept where they are not too many.
void ScenarioSweep::keep_models(SweepReader& reader) {
  std::vector<std::int64_t> points{0};  // at which all combinations of model axes are met
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    if (parts_->axes[axis].route.front() != "model") continue;
    const auto goes_along = [&](std::size_t earlier) {  // zipped: the earlier axis steps through both
      return axes_[axis].values.size() > 1 && parts_->strides[earlier] == parts_->strides[axis];
    };
    const std::vector<std::size_t>& kept = parts_->model_axes;
    if (std::any_of(kept.begin(), kept.end(), goes_along)) continue;
    parts_->model_axes.push_back(axis);
    std::vector<std::int64_t> more;
    for (const std::int64_t point : points)
      for (std::int64_t value = 0; value < std::ssize(axes_[axis].values); ++value)
        more.push_back(point + value * parts_->strides[axis]);
    points = std::move(more);
    if (points.size() > most_kept_models) return;
  }
  std::vector<ModelSpec> models;
  if (points.size() > 1)
    for (const std::int64_t point : points) models.push_back(reader.at(point).model);
  parts_->models = std::move(models);
}

std::vector<std::size_t> ScenarioSweep::values_at(std::int64_t point) const {
  std::vector<std::size_t> values;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    values.push_back(static_cast<std::size_t>(point / parts_->strides[axis] % std::ssize(axes_[axis].values)));
  return values;
}

SweepReader::SweepReader(const ScenarioSweep& sweep) : sweep_(sweep), state_(std::make_unique<State>()) {
  const ScenarioSweep::Parts& parts = *sweep.parts_;
  state_->root = parts.first.root;
  for (const auto& axis : parts.axes) state_->nodes.push_back(node_at(state_->root, axis.route));
  state_->values.assign(parts.axes.size(), 0);
  state_->scenario = read_values(parts.first);
  state_->scenario.places = {};
  state_->scenario.largest.reset();
}

SweepReader::~SweepReader() = default;

const Scenario& SweepReader::at(std::int64_t point) {
  const ScenarioSweep::Parts& parts = *sweep_.parts_;
  State& state = *state_;
  for (std::size_t i = 0; i < parts.axes.size(); ++i) {
    const NodeAxis& axis = parts.axes[i];
    const auto value = static_cast<std::size_t>(point / parts.strides[i] % std::ssize(axis.values));
    if (value == state.values[i]) continue;
    *state.nodes[i] = axis.values[value];
    state.values[i] = value;
    state.stale.insert(axis.route.front());
  }
  // A section that cannot be read stays stale.
  while (!state.stale.empty()) {
    const std::string section = *state.stale.begin();
    if (section == "model" && !parts.models.empty()) {
      std::size_t model = 0;
      for (const std::size_t axis : parts.model_axes)
        model = model * parts.axes[axis].values.size() + state.values[axis];
      state.scenario.model = parts.models[model];
    } else {
      read_section(state.root, section, state.scenario);
    }
    state.stale.erase(state.stale.begin());
  }
  set_default_mode(state.root, state.scenario);
  return state.scenario;
}

}  // namespace hybridkv
