#include "fuzz/plan_checks.h"

#include <algorithm>
#include <cstddef>

#include "ask/plan.h"
#include "fuzz/harness.h"
#include "report/json_text.h"
#include "report/plan/explain_report.h"
#include "report/plan/plan_json.h"
#include "report/plan/plan_report.h"
#include "scenarios/sweep_axes.h"

namespace hybridkv::fuzz {

namespace {

/// Small enough for a thousand runs a second; the bounds themselves are held by tests.
bool is_cheap(const Scenario& scenario) {
  const std::int64_t most = 64;
  const auto draft_layers = scenario.engine.draft ? scenario.engine.draft->layers : 0;
  std::int64_t work = 1;
  for (const std::int64_t factor :
       {std::max({std::ssize(scenario.model.layers), std::ptrdiff_t{scenario.engine.mtp_layers},
                  std::ptrdiff_t{draft_layers}}),
        std::ssize(scenario.pack_sizes), std::ssize(scenario.limits.max_model_lens)}) {
    if (factor > most) return false;
    work *= factor;
  }
  return work <= most && scenario.limits.load_tokens.size() <= 16;
}

void check_explanation(const PlanSet& plans, const Scenario& scenario, Format format) {
  std::string text;
  write_explain({plans.model, plans.tensor_parallel, plans.plans.size(), scenario.model.parameters,
                 [&](std::size_t i) { return plans.plans[i]; }},
                format, {}, [&](const std::string& piece) { text += piece; });
  require(!text.empty(), "an explanation without a text");
  require(format != Format::json || !nlohmann::ordered_json::parse(text, nullptr, false).is_discarded(),
          "the JSON of an explanation is no JSON");
}

}  // namespace

void check_plans(const Scenario& scenario, std::size_t choice) {
  if (!is_cheap(scenario)) return;
  const PlanSet plans = plan_scenario(scenario, scenario.pack_sizes);
  const Format format = all_formats[choice / 4 % std::size(all_formats)];
  switch (choice % 4) {
    case 0: require(!render_plan(plans, plan_answer(plans), format).empty(), "a plan without a text"); return;
    case 1: check_explanation(plans, scenario, format); return;
    case 2: require(plan_set_from_json(to_json(plans)) == plans, "the JSON of a plan reads back otherwise"); return;
    default:
      require(!nlohmann::ordered_json::parse(json_text(to_json(plans)), nullptr, false).is_discarded(),
              "the text of a plan's JSON is no JSON");
  }
}

void check_scenario(const ScenarioFile& file, std::size_t choice) {
  accepts([&] { check_plans(read_scenario(file), choice); });
  accepts([&] {
    const ScenarioSweep sweep(file);
    if (sweep.axes().empty()) return;
    require(sweep.num_points() >= 1, "a sweep without a point");
    SweepReader reader(sweep);
    for (const std::int64_t point : {std::int64_t{0}, sweep.num_points() / 2, sweep.num_points() - 1}) {
      require(sweep.values_at(point).size() == sweep.axes().size(), "a point without a value for each axis");
      accepts([&] { reader.at(point); });
    }
    const auto any = static_cast<std::int64_t>(choice / 32 % static_cast<std::size_t>(sweep.num_points()));
    accepts([&] { check_plans(reader.at(any), choice); });
  });
}

}  // namespace hybridkv::fuzz
