#include "web/derivation.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ask/compare/compare_rules.h"
#include "ask/plan.h"
#include "base/error.h"
#include "planner/full_load.h"
#include "planner/plan_facts.h"
#include "report/plan/explain_report.h"
#include "report/plan/plan_json.h"
#include "web/question.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

/// Decisions in the order in which they are asked for, each once.
class Steps {
 public:
  std::size_t position_of(const Decision& decision) {
    const auto known = std::find(decisions_.begin(), decisions_.end(), &decision);
    const auto position = static_cast<std::size_t>(known - decisions_.begin());
    if (known == decisions_.end()) decisions_.push_back(&decision);
    return position;
  }
  std::size_t size() const { return decisions_.size(); }
  const Decision& operator[](std::size_t i) const { return *decisions_[i]; }

 private:
  std::vector<const Decision*> decisions_;
};

Json step_json(const Decision& decision, const ComparedDerivation& derivation, Steps& steps) {
  Json json = to_json(decision);
  const auto values = substituted_rule(decision);
  json["values"] = values ? Json(*values) : Json(nullptr);
  json["text"] = term_text(decision.result);
  for (std::size_t i = 0; i < decision.inputs.size(); ++i) {
    json["inputs"][i]["text"] = term_text(decision.inputs[i]);
    const Decision* const origin = derivation.origin(decision.inputs[i]);
    if (origin != nullptr && origin != &decision) json["inputs"][i]["step"] = steps.position_of(*origin);
  }
  return json;
}

/// What is asked, or one of the settings that are compared.
Scenario scenario_of(const Json& question) {
  const PageQuestion asked(question);
  const auto number = question.find("setting");
  if (number == question.end()) return read_scenario(asked.file());
  const std::vector<CompareSetting> settings = asked.settings();
  if (!number->is_number_unsigned() || number->get<std::size_t>() >= settings.size())
    throw InputError(fmt::format("setting: must be a number below {}", settings.size()));
  return settings[number->get<std::size_t>()].scenario;
}

/// What is to be derived: one symbol, or several of which a number is the sum.
std::vector<std::string> symbols_of(const Json& question) {
  const auto several = question.find("symbols");
  if (several == question.end()) return {text_of(question, "symbol")};
  std::vector<std::string> symbols;
  if (several->is_array())
    for (const Json& symbol : *several)
      if (symbol.is_string()) symbols.push_back(symbol.get<std::string>());
  if (symbols.empty()) throw InputError("symbols: must be a list of texts");
  return symbols;
}

}  // namespace

std::string derivation_answer(const Json& question) {
  const Scenario scenario = scenario_of(question);
  PlanSet set = plan_scenario(scenario, {scenario.pack_sizes.front()}, PlanDetail::derived);
  const std::int64_t longest = longest_length(set);
  CachePlan& plan = set.plans.front();
  const auto full = question.find("full");
  if (full != question.end() && *full == true) plan = with_full_load(std::move(plan), longest);
  const ComparedDerivation derivation{&plan.derivation, longest};
  Steps steps;
  for (const std::string& symbol : symbols_of(question)) {
    const Decision* const decision = derivation.find(symbol);
    if (decision == nullptr) throw InputError("symbol: nothing is derived as '" + symbol + "'");
    steps.position_of(*decision);
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < steps.size(); ++i) list.push_back(step_json(steps[i], derivation, steps));
  return Json{{"steps", std::move(list)}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hybridkv
