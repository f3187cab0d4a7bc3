#include "web/copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/shell_word.h"
#include "scenarios/key_flags.h"
#include "scenarios/yaml_tree.h"
#include "web/question.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;
using Values = std::vector<std::pair<std::string, std::string>>;

/// Where the page keeps files that were dropped; elsewhere they go by their name.
constexpr std::string_view dropped_folder = "/dropped/";

std::string without_folder(std::string text) {
  for (std::size_t at; (at = text.find(dropped_folder)) != std::string::npos;) text.erase(at, dropped_folder.size());
  return text;
}

/// The section of a key and the key in it: "engine" and "tensor_parallel"; "model" is in none.
std::pair<std::string, std::string> split_key(const std::string& key) {
  const std::size_t dot = key.find('.');
  return dot == std::string::npos ? std::pair{std::string(), key} : std::pair{key.substr(0, dot), key.substr(dot + 1)};
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

/// A number stays one, everything else is a text.
std::string python_value(const std::string& text) {
  if (text == "true") return "True";
  if (text == "false") return "False";
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return digits ? text : Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// Keywords are keys without their section; those that lie deeper keep their dots.
std::string python_of(const PageQuestion& question) {
  std::string plain, dotted;
  for (const auto& [path, value] : question.values) {
    const std::string text = without_folder(value), key = split_key(path).second;
    if (key.find('.') == std::string::npos)
      plain += fmt::format("{}{}={}", plain.empty() ? "" : ", ", key, python_value(text));
    else
      dotted += fmt::format("{}\"{}\": {}", dotted.empty() ? "" : ", ", path, python_value(text));
  }
  if (!dotted.empty()) plain += fmt::format("{}**{{{}}}", plain.empty() ? "" : ", ", dotted);
  const bool replays = has_section(question.values, "simulate.trace");
  return fmt::format("hybridkv.{}({})", replays ? "simulate" : "plan", plain);
}

}  // namespace

std::string copies_answer(const Json& json) {
  const PageQuestion question(json);
  Values values = question.values;
  values.insert(values.end(), question.vary.begin(), question.vary.end());
  return Json{{"command", command_of(question)}, {"yaml", yaml_of(values)}, {"python", python_of(question)}}.dump();
}

}  // namespace hybridkv
