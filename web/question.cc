#include "web/question.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

std::vector<std::pair<std::string, std::string>> texts_of(const Json& json, const char* field) {
  std::vector<std::pair<std::string, std::string>> texts;
  const auto found = json.find(field);
  if (found == json.end()) return texts;
  if (!found->is_object()) throw InputError(fmt::format("{}: must be an object of texts by key", field));
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string()) throw InputError(fmt::format("{}.{}: must be a text, as a flag takes it", field, key));
    if (const auto text = value.get<std::string>(); !text.empty()) texts.emplace_back(key, text);
  }
  return texts;
}

bool is_yaml(const std::string& scenario) { return scenario.find_first_of(":\n{") != std::string::npos; }

}  // namespace

std::string text_of(const Json& question, const char* field) {
  const auto found = question.find(field);
  return found != question.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string yaml_value(const std::string& key, const std::string& text) {
  const bool is_written_out = text.starts_with('[') || text.starts_with('{');
  if (key == "model" && !is_written_out)
    return text.starts_with('/') ? fmt::format("{{file: {}}}", yaml_quoted(text)) : yaml_quoted(text);
  return is_written_out || text.find(',') == std::string::npos ? text : fmt::format("[{}]", text);
}

PageQuestion::PageQuestion(const Json& json) {
  if (!json.is_object()) throw InputError("a question must be an object");
  if (const auto found = json.find("scenario"); found != json.end()) {
    if (!found->is_string()) throw InputError("scenario: must be a text, its name or its YAML");
    scenario = found->get<std::string>();
  }
  values = texts_of(json, "values");
  vary = texts_of(json, "vary");
}

PageQuestion PageQuestion::without_varied() const {
  PageQuestion question = *this;
  std::erase_if(question.values, [&](const auto& value) {
    return std::any_of(vary.begin(), vary.end(), [&](const auto& varied) { return varied.first == value.first; });
  });
  return question;
}

ScenarioFile PageQuestion::file() const {
  ScenarioFile file = scenario.empty()    ? parse_scenario("{}", "page")
                      : is_yaml(scenario) ? parse_scenario(scenario, "scenario.yaml")
                                          : load_scenario(scenario);
  for (const auto& [key, text] : values) apply_override(file, key, yaml_value(key, text), key + " " + text);
  return file;
}

std::vector<CompareSetting> PageQuestion::settings() const {
  ScenarioFile varied = without_varied().file();
  std::vector<std::string> keys;
  for (const auto& [key, text] : vary) {
    apply_override(varied, key, yaml_value(key, text), key + " " + text);
    keys.push_back(key);
  }
  return compare_settings({varied}, keys, 1);
}

}  // namespace hybridkv
