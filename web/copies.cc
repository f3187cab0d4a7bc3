#include "web/copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/shell_word.h"
#include "scenarios/key_flags.h"
#include "scenarios/yaml_tree.h"
#include "web/question.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;
using Values = std::vector<std::pair<std::string, std::string>>;

/// Where the page keeps files that were dropped, a config.json by itself; elsewhere they go by their name.
constexpr std::array<std::string_view, 2> dropped_folders{"/dropped/imported/", "/dropped/"};

std::string without_folder(std::string text) {
  for (const std::string_view folder : dropped_folders)
    for (std::size_t at; (at = text.find(folder)) != std::string::npos;) text.erase(at, folder.size());
  return text;
}

bool has_section(const Values& values, std::string_view section) {
  return std::any_of(values.begin(), values.end(), [&](const auto& value) { return value.first.starts_with(section); });
}

std::string command_of(const PageQuestion& question) {
  const bool compares = !question.vary.empty(), replays = has_section(question.values, "simulate.trace");
  std::string words = compares ? "hybridkv compare" : replays ? "hybridkv simulate" : "hybridkv plan";
  const auto add = [&](std::string_view flag, const std::string& value) {
    words += fmt::format(" {} {}", flag, shell_word(value));
  };
  for (const auto& [name, value] : question.values) {
    const std::string text = without_folder(value), key = name;
    if (const std::string_view flag = flag_of_key(key_flags, key); !flag.empty()) add(flag, text);
    else if (key == "simulate.trace.file") add("--trace", text);
    else add("--set", fmt::format("{}={}", key, yaml_value(key, text)));
  }
  for (const auto& [key, value] : question.vary)
    if (key == "engine.release") add("--engines", value);
    else add("--vary", fmt::format("{}={}", key, without_folder(value)));
  return words;
}

/// Keys below each other, as a scenario file has them.
struct KeyTree {
  std::string name;
  std::string yaml;  // of a value
  std::vector<KeyTree> below;

  KeyTree& at(const std::string& key) {
    const auto found = std::find_if(below.begin(), below.end(), [&](const KeyTree& tree) { return tree.name == key; });
    return found != below.end() ? *found : below.emplace_back(KeyTree{key, {}, {}});
  }

  void write(std::string& text, const std::string& indent) const {
    for (const KeyTree& key : below) {
      text += fmt::format("{}{}:{}{}\n", indent, key.name, key.yaml.empty() ? "" : " ", key.yaml);
      key.write(text, indent + "  ");
    }
  }
};

std::string yaml_of(const Values& values) {
  KeyTree root;
  for (const auto& [path, value] : values) {
    KeyTree* tree = &root;
    std::string rest = path;
    for (std::size_t dot; (dot = rest.find('.')) != std::string::npos; rest.erase(0, dot + 1))
      tree = &tree->at(rest.substr(0, dot));
    tree->at(rest).yaml = without_folder(yaml_value(path, value));
  }
  std::string text;
  root.write(text, "");
  return text;
}

std::string python_text(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// A number stays one; so do lists and mappings of them. Every other scalar is a text.
std::string python_value(const YamlNode& value) {
  const std::string& text = value.text;
  std::string inside;
  const auto add = [&](const std::string& one) { inside += (inside.empty() ? "" : ", ") + one; };
  switch (value.kind) {
    case YamlNode::Kind::nothing: return "None";
    case YamlNode::Kind::list:
      for (const YamlNode& item : value.items) add(python_value(item));
      return "[" + inside + "]";
    case YamlNode::Kind::mapping:
      for (const YamlEntry& entry : value.entries) add(python_text(entry.key) + ": " + python_value(entry.value));
      return "{" + inside + "}";
    case YamlNode::Kind::scalar: break;
  }
  if (!value.quoted && (text == "true" || text == "false")) return text == "true" ? "True" : "False";
  const bool is_number = !value.quoted && !text.empty() && text.find_first_not_of("0123456789") == std::string::npos &&
                         (text == "0" || text.front() != '0');
  return is_number ? text : python_text(without_folder(text));
}

std::string python_value(const std::string& key, const std::string& text) {
  const bool is_model_name = key == "model" && !text.starts_with('[') && !text.starts_with('{');
  if (is_model_name) return python_text(without_folder(text));
  return python_value(parse_flag_value(yaml_value(key, text), {key + " " + text, "", {}}));
}

/// The keyword of a key; empty where only the whole key, with its dots, is unlike all others.
std::string python_keyword(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  if (dot == std::string::npos) return key;
  const std::string section = key.substr(0, dot);
  return section == "engine" || section == "limits" ? key.substr(dot + 1) : std::string();
}

std::string python_of(const PageQuestion& question) {
  std::string plain, dotted, varied;
  const auto add = [](std::string& list, const std::string& one) { list += (list.empty() ? "" : ", ") + one; };
  for (const auto& [key, text] : question.values) {
    const std::string keyword = python_keyword(key), value = python_value(key, text);
    if (!keyword.empty()) add(plain, keyword + "=" + value);
    else add(dotted, python_text(key) + ": " + value);
  }
  for (const auto& [key, text] : question.vary) {
    const std::string keyword = python_keyword(key);
    add(varied, python_text(keyword.empty() ? key : keyword) + ": " + python_value(key, text));
  }
  if (!varied.empty()) add(plain, "vary={" + varied + "}");
  if (!dotted.empty()) add(plain, "**{" + dotted + "}");
  const bool replays = has_section(question.values, "simulate.trace");
  return fmt::format("hybridkv.{}({})", !varied.empty() ? "compare" : replays ? "simulate" : "plan", plain);
}

}  // namespace

std::string copies_answer(const Json& json) {
  const PageQuestion question = PageQuestion(json).without_varied();
  Values values = question.values;
  values.insert(values.end(), question.vary.begin(), question.vary.end());
  return Json{{"command", command_of(question)}, {"yaml", yaml_of(values)}, {"python", python_of(question)}}.dump();
}

}  // namespace hybridkv
