#include "web/choices.h"

#include <fmt/format.h>

#include "ask/start/memory_budget.h"
#include "base/error.h"
#include "base/number_text.h"
#include "engines/engine.h"
#include "report/replay/loss_report.h"
#include "scenarios/model_library.h"
#include "scenarios/number.h"
#include "scenarios/scenario_keys.h"

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

std::string text_of(const Json& question, const char* field) {
  const auto found = question.find(field);
  return found != question.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::string choices_answer(const Json& question) {
  Json gpus = Json::array(), models = Json::array(), keys = Json::object();
  for (const Gpu& gpu : known_gpus())
    gpus.push_back({{"name", gpu.name}, {"total_bytes", gpu.total_bytes}, {"profile", to_string(gpu.profile)}});
  for (const ShippedModel& shipped : shipped_models()) models.push_back(shipped.model.name);
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

std::string budget_answer(const Json& question) {
  const Gpu& gpu = find_gpu(text_of(question, "gpu"));
  const std::string share = text_of(question, "utilization"), weights = text_of(question, "weights");
  const ParsedReal utilization = parse_real(share);
  if (!utilization.problem.empty() || utilization.value <= 0 || utilization.value > 1)
    throw InputError(fmt::format("utilization: '{}' is no share of the GPU; give a number above 0, at most 1", share));
  const ParsedNumber bytes = parse_size(weights);
  if (!bytes.problem.empty())
    throw InputError(fmt::format("weights: '{}' {}; give bytes, or a number with a unit like 14GiB", weights,
                                 bytes.problem));
  const MemoryBudget budget = memory_budget(gpu, utilization.value, bytes.value, std::nullopt, *usual_start().start);
  if (budget.available_bytes <= 0)
    throw InputError(fmt::format("weights: {} of weights and {} beside them leave nothing of {} of {}; take more ranks",
                                 human_bytes(budget.weights_bytes), human_bytes(budget.beside_bytes), share, gpu.name));
  return Json{{"memory_bytes", budget.available_bytes},
              {"text", fmt::format("{} of {}: {}, less {} of weights and about {} beside them", share, gpu.name,
                                   human_bytes(budget.requested_bytes), human_bytes(budget.weights_bytes),
                                   human_bytes(budget.beside_bytes))}}
      .dump();
}

}  // namespace hybridkv
