#include "scenarios/model_tree.h"

#include <yaml-cpp/yaml.h>

#include <utility>

namespace hybridkv {

namespace {

/// One value, lists and the kinds of layer in one line.
void emit(YAML::Emitter& out, const YamlNode& node, bool is_kind) {
  switch (node.kind) {
    case YamlNode::Kind::nothing: out << YAML::Null; break;
    case YamlNode::Kind::scalar:
      if (node.quoted) out << YAML::DoubleQuoted;
      out << node.text;
      break;
    case YamlNode::Kind::list:
      // Of mappings one stands in each line.
      if (node.items.empty() || node.items.front().kind != YamlNode::Kind::mapping) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const YamlNode& item : node.items) emit(out, item, true);
      out << YAML::EndSeq;
      break;
    case YamlNode::Kind::mapping:
      if (is_kind) out << YAML::Flow;
      out << YAML::BeginMap;
      for (const YamlEntry& entry : node.entries) {
        out << YAML::Key << entry.key << YAML::Value;
        emit(out, entry.value, true);
      }
      out << YAML::EndMap;
      break;
  }
}

}  // namespace

YamlNode tree_scalar(std::string text, const Place& place) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.text = std::move(text);
  node.place = node.key_place = place;
  return node;
}

YamlNode tree_mapping(const Place& place) {
  YamlNode node;
  node.kind = YamlNode::Kind::mapping;
  node.place = node.key_place = place;
  return node;
}

void tree_add(YamlNode& mapping, const std::string& key, YamlNode value) {
  expects(!mapping.find(key), "a key is added once");
  mapping.entries.push_back({key, std::move(value)});
}

std::string model_yaml(const YamlNode& model) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  for (const YamlEntry& entry : model.entries) {
    out << YAML::Key << entry.key << YAML::Value;
    emit(out, entry.value, false);
  }
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace hybridkv
