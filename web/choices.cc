#include "web/choices.h"

#include <fmt/format.h>

#include "base/error.h"
#include "engines/gpus.h"
#include "report/replay/loss_report.h"
#include "scenarios/model_library.h"
#include "scenarios/number.h"
#include "scenarios/scenario_keys.h"
#include "web/question.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

/// The key at a dotted path below a section.
const KeyInfo& key_at(const SectionInfo& section, const std::string& path) {
  const std::size_t dot = path.find('.');
  const KeyInfo* const key = section.find(path.substr(0, dot));
  if (key == nullptr || (dot != std::string::npos && key->section == nullptr))
    throw InputError(fmt::format("keys: a scenario has no key '{}'", path));
  return dot == std::string::npos ? *key : key_at(*key->section, path.substr(dot + 1));
}

}  // namespace

std::string choices_answer(const Json& question) {
  Json gpus = Json::array(), models = Json::array(), keys = Json::object();
  for (const Gpu& gpu : known_gpus())
    gpus.push_back({{"name", gpu.name}, {"total_bytes", gpu.total_bytes}, {"profile", to_string(*gpu.profile)}});
  for (std::string& name : shipped_model_own_names()) models.push_back(std::move(name));
  for (const Json& path : question.value("keys", Json::array())) {
    const auto name = path.get<std::string>();
    const KeyInfo& key = key_at(scenario_keys().info(), name);
    keys[name] = {{"doc", key.doc}, {"values", key.choices}};
  }
  Json causes = Json::object();
  for (const auto& cause : loss_cause_names) causes[std::string(cause.name)] = loss_title(cause.value);
  return Json{{"models", models}, {"gpus", gpus}, {"keys", keys}, {"causes", causes}}.dump();
}

std::string amounts_answer(const Json& question) {
  const KeyInfo& key = key_at(scenario_keys().info(), text_of(question, "key"));
  Json amounts = Json::array();
  for (const Json& text : question.value("texts", Json::array())) {
    const auto written = text.get<std::string>();
    const ParsedNumber number = key.type == ValueType::size ? parse_size(written) : parse_whole(written, key.form);
    amounts.push_back(number.problem.empty() ? Json(number.value) : Json());
  }
  return amounts.dump();
}

}  // namespace hybridkv
