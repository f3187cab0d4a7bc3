#include "web/replay.h"

#include <optional>
#include <vector>

#include "ask/plot/engine_curves.h"
#include "ask/plot/first_token_curves.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "ask/replay/simulate_bounds.h"
#include "ask/replay/simulate_request.h"
#include "base/number_text.h"
#include "planner/evidence.h"
#include "report/replay/simulate_report.h"
#include "web/question.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::vector<std::optional<double>>& values) {
  Json list = Json::array();
  for (const std::optional<double>& value : values) list.push_back(value ? Json(*value) : Json(nullptr));
  return list;
}

Json texts_of(const std::vector<std::int64_t>& memory_bytes) {
  Json list = Json::array();
  for (const std::int64_t bytes : memory_bytes) list.push_back(human_bytes(bytes));
  return list;
}

std::string replayed(const Scenario& scenario) {
  SimulateAnswer answer = simulate({scenario.simulate, planned_caches(scenario)});
  add_bounds(answer, scenario);
  return render_simulate(answer, Format::json);
}

}  // namespace

std::string simulate_answer(const Json& question) {
  const Scenario scenario = read_scenario(PageQuestion(question).file());
  try {
    return replayed(scenario);
  } catch (const SpecError& error) {
    throw located(scenario_error(error), scenario);
  }
}

std::string rates_answer(const Json& question) {
  const EngineRates rates = engine_rates(PageQuestion(question).settings());
  Json settings = Json::array();
  for (std::size_t i = 0; i < rates.names.size(); ++i)
    settings.push_back({{"name", rates.names[i]}, {"evidence", to_string(rates.evidence[i])},
                        {"found", json_of(rates.found[i])}});
  return Json{{"model", rates.model}, {"trace", rates.trace}, {"memory_bytes", rates.memory_bytes},
              {"memory_text", texts_of(rates.memory_bytes)}, {"settings", settings}, {"upper", json_of(rates.upper)},
              {"token_exact", rates.token_exact}}
      .dump();
}

std::string first_tokens_answer(const Json& question) {
  const FirstTokens curves = first_token_curves(PageQuestion(question).settings());
  Json settings = Json::array();
  for (std::size_t i = 0; i < curves.names.size(); ++i) {
    Json seconds = Json::array(), overloaded = Json::array();
    for (const FirstToken& one : curves.of[i]) {
      seconds.push_back(one.seconds ? Json(*one.seconds) : Json(nullptr));
      overloaded.push_back(one.overloaded);
    }
    settings.push_back({{"name", curves.names[i]}, {"seconds", seconds}, {"overloaded", overloaded}});
  }
  return Json{{"memory_bytes", curves.memory_bytes}, {"memory_text", texts_of(curves.memory_bytes)},
              {"settings", settings}, {"clocks", curves.clocks}}
      .dump();
}

}  // namespace hybridkv
