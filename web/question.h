#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ask/compare/compare_settings.h"
#include "scenarios/read.h"

namespace hybridkv {

/// What somebody asks of the page, the same whatever answer is wanted. As JSON, where every field may be left out:
/// {"scenario": "name: x\n…", "values": {"engine.tensor_parallel": "2"}, "vary": {"engine.release": "jenga"}}.
struct PageQuestion {
  std::string scenario;  ///< name of a shipped one, or its YAML; empty: nothing but the values
  std::vector<std::pair<std::string, std::string>> values;  ///< keys of a scenario and what flags would say of them
  std::vector<std::pair<std::string, std::string>> vary;    ///< the same for keys that settings differ by

  /// Throws InputError where the JSON has another form.
  explicit PageQuestion(const nlohmann::ordered_json& json);

  /// Without values of keys that vary: what varies has none beside those that it takes.
  PageQuestion without_varied() const;

  /// The scenario with the values laid over it. Throws InputError.
  ScenarioFile file() const;

  /// One setting for each value of what varies, at least one. Throws InputError as compare_settings.
  std::vector<CompareSetting> settings() const;
};

/// The text that a field of a question holds; nothing where it holds none.
std::string text_of(const nlohmann::ordered_json& question, const char* field);

/// A value of a key as flags take it ("1,2,4", a model's name or file) as the YAML that it means.
std::string yaml_value(const std::string& key, const std::string& text);

}  // namespace hybridkv
