#include "python/question.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "python/keywords.h"
#include "python/tree.h"
#include "scenarios/hf_config.h"
#include "scenarios/model_reader.h"
#include "scenarios/model_words.h"

namespace hybridkv {

namespace nb = nanobind;

namespace {

Place place_named(std::string name) {
  return {std::make_shared<const SourceText>(SourceText{std::move(name), ".", {}}), 0, 0};
}

/// "tensor_parallel=2", what is too long to be read left out.
Place place_of(const std::string& keyword, nb::handle value) {
  constexpr std::size_t longest = 80;
  std::string text = shown(value, PyObject_Repr);
  if (text.size() > longest) {
    std::size_t end = longest;
    while ((text[end] & 0xC0) == 0x80) --end;  // not within a character
    text = text.substr(0, end) + "…";
  }
  return place_named(keyword + "=" + text);
}

YamlNode mapping_of(const std::string& key, YamlNode value) {
  YamlNode mapping;
  mapping.kind = YamlNode::Kind::mapping;
  mapping.place = mapping.key_place = value.place;
  mapping.entries.push_back({key, std::move(value)});
  return mapping;
}

/// What config.json of a model calls it, without the organisation.
std::string config_name(const YamlNode& config) {
  const YamlNode* const name = config.find("_name_or_path");
  return name && !name->text.empty() ? hf_model_name(name->text) : "imported";
}

/// A release is what most people mean by an engine, a file what they mean by a trace.
std::string key_for(const std::string& keyword, const YamlNode& value) {
  const bool is_mapping = value.kind == YamlNode::Kind::mapping;
  if (keyword == "engine" && !is_mapping) return "engine.release";
  return key_of_keyword(keyword);
}

using Apply = std::function<void(const std::string& key, YamlNode value)>;

/// A value of a keyword as the keys that it stands for: a section says several.
void each_key(const std::string& key, YamlNode value, const Apply& apply) {
  if (key == "model") return apply(key, model_node(std::move(value)));
  unquote(value);
  if (key == "simulate.trace" && value.kind == YamlNode::Kind::scalar) value = mapping_of("file", std::move(value));
  if (value.kind == YamlNode::Kind::mapping && key_of_keyword(key) == key && key.find('.') == std::string::npos) {
    // What a section says is laid over what the scenario says, key by key.
    for (YamlEntry& entry : value.entries) each_key(key + "." + entry.key, std::move(entry.value), apply);
    return;
  }
  apply(key, std::move(value));
}

ScenarioFile file_of(nb::handle scenario) {
  const auto file = [](YamlNode root) { return ScenarioFile{"scenario", std::move(root)}; };
  if (scenario.is_none()) {
    YamlNode root;
    root.kind = YamlNode::Kind::mapping;
    root.place = root.key_place = place_named("keywords");
    return file(std::move(root));
  }
  if (is_text(scenario)) return load_scenario(text_of(scenario));
  const Place place = place_named("scenario");
  YamlNode root = tree_of(scenario, place);
  if (root.kind != YamlNode::Kind::mapping)
    throw error_at(place, "is " + describe(root) + "; give a mapping, a path, a name or a model's config");
  if (is_model(root)) return file(mapping_of("model", model_node(std::move(root))));
  for (YamlEntry& entry : root.entries) {
    if (entry.key == "model") entry.value = model_node(std::move(entry.value));
    else unquote(entry.value);
  }
  return file(std::move(root));
}

}  // namespace

YamlNode model_node(YamlNode model) {
  if (model.kind == YamlNode::Kind::list)
    for (YamlNode& item : model.items) item = model_node(std::move(item));
  if (model.kind == YamlNode::Kind::mapping && is_hf_config(model))
    return import_hf_config(model, config_name(model), "a config given in Python");
  unquote(model);
  if (model.kind == YamlNode::Kind::scalar && names_model_file(model.text))
    return mapping_of("file", std::move(model));
  return model;
}

namespace {

/// The keys of the keywords, what says more behind what says less: keywords have no order.
void each_key(const nb::dict& keys, const Apply& apply) {
  struct Layer {
    std::string key;
    YamlNode value;
    std::ptrdiff_t depth = 0;
  };
  std::vector<Layer> layers;
  layers.reserve(keys.size());
  for (const auto& [name, value] : keys) {
    if (value.is_none()) continue;  // as not given
    const std::string keyword = text_of(name);
    YamlNode node = tree_of(value, place_of(keyword, value));
    std::string key = key_for(keyword, node);
    const std::ptrdiff_t depth = std::count(key.begin(), key.end(), '.');
    layers.push_back({std::move(key), std::move(node), depth});
  }
  std::stable_sort(layers.begin(), layers.end(), [](const Layer& a, const Layer& b) { return a.depth < b.depth; });
  for (Layer& layer : layers) each_key(layer.key, std::move(layer.value), apply);
}

}  // namespace

void lay_over(ScenarioFile& file, const nb::dict& keys) {
  each_key(keys, [&](const std::string& key, YamlNode value) { apply_override(file, key, std::move(value)); });
}

std::vector<AskedKey> asked_keys(nb::handle scenario, const nb::dict& keys) {
  std::vector<AskedKey> asked;
  const Apply add = [&](const std::string& key, YamlNode value) { asked.push_back({key, std::move(value)}); };
  if (!scenario.is_none() && !is_text(scenario))
    for (YamlEntry& entry : file_of(scenario).root.entries) each_key(entry.key, std::move(entry.value), add);
  each_key(keys, add);
  return asked;
}

bool chooses_packs(const nb::dict& keys) {
  for (const auto& [name, value] : keys)
    if (!value.is_none() && key_of_keyword(text_of(name)) == "engine.attention_pack_size") return true;
  return false;
}

ScenarioFile question_of(nb::handle scenario, const nb::dict& keys) {
  ScenarioFile file = file_of(scenario);
  lay_over(file, keys);
  return file;
}

}  // namespace hybridkv
