#include "scenarios/scenario_text.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "base/input_file.h"

namespace hybridkv {

namespace {

namespace fs = std::filesystem;

/// What a value of the key `file` is called from another folder than that of its text. Names of the hub and standard
/// input are found from everywhere.
std::string file_from(const YamlNode& name, const std::string& folder) {
  if (!name.place.text || name.text == standard_input || name.text.find("://") != std::string::npos ||
      fs::path(name.text).is_absolute())
    return name.text;
  const fs::path path = fs::path(name.place.text->directory) / name.text;
  const fs::path from = fs::absolute(folder.empty() ? "." : folder).lexically_normal();
  const fs::path relative = fs::absolute(path).lexically_normal().lexically_relative(from);
  // What has no folder would be the name of a model.
  return relative.empty() ? path.string() : relative.has_parent_path() ? relative.string() : "./" + relative.string();
}

/// Would these words be another kind of value without quotes? The emitter itself sees to characters that end a word.
bool is_text_in_quotes_alone(const std::string& text) {
  constexpr std::array<std::string_view, 8> values{"true", "false", "null", "yes", "no", "on", "off", "nan"};
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return text.empty() || !std::isalpha(static_cast<unsigned char>(text.front())) ||
         std::find(values.begin(), values.end(), lower) != values.end();
}

bool is_plain(const YamlNode& node) {
  return node.kind == YamlNode::Kind::scalar || node.kind == YamlNode::Kind::nothing;
}

/// Lists of single values fit a line.
bool is_flat(const YamlNode& node) {
  return std::all_of(node.items.begin(), node.items.end(), [](const YamlNode& item) { return is_plain(item); });
}

void write_node(YAML::Emitter& out, const YamlNode& node, const std::string& folder, bool names_file = false) {
  switch (node.kind) {
    case YamlNode::Kind::nothing: out << YAML::Null; return;
    case YamlNode::Kind::scalar:
      // A lone "-" would begin a list.
      if (node.text == standard_input || (node.quoted && is_text_in_quotes_alone(node.text))) out << YAML::DoubleQuoted;
      out << (names_file ? file_from(node, folder) : node.text);
      return;
    case YamlNode::Kind::list:
      if (is_flat(node)) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const YamlNode& item : node.items) write_node(out, item, folder);
      out << YAML::EndSeq;
      return;
    case YamlNode::Kind::mapping:
      out << YAML::BeginMap;
      for (const YamlEntry& entry : node.entries) {
        if (entry.value.left_out) continue;
        out << YAML::Key << entry.key << YAML::Value;
        write_node(out, entry.value, folder, entry.key == "file");
      }
      out << YAML::EndMap;
  }
}

}  // namespace

std::string scenario_text(const ScenarioFile& file, const std::string& folder) {
  YAML::Emitter out;
  write_node(out, file.root, folder);
  return std::string(out.c_str()) + "\n";
}

}  // namespace hybridkv
