// A release that is one file and a line in the list answers every question as an engine of the program does.
#include "tests/toys/toy_release.h"

#include <doctest/doctest.h>

#include "ask/compare/compare.h"
#include "ask/plan.h"
#include "ask/plot/memory_curves.h"
#include "ask/recommend.h"
#include "ask/replay/bound.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "ask/replay/sweep.h"
#include "ask/verify.h"
#include "base/error.h"
#include "report/plan/plan_report.h"
#include "report/replay/simulate_report.h"
#include "tests/ask/asked.h"
#include "tests/contains.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

const std::string traffic = "simulate: {losses: true, upper_bounds: true, trace: {max_requests: 100}}\n";

ScenarioFile file_of(const std::string& release) { return small_file("  release: " + release + "\n", traffic); }

ReplayedCache replayed(const std::string& release) {
  const Scenario scenario = read_scenario(file_of(release));
  return simulate({scenario.simulate, planned_caches(scenario)}).caches.front();
}

}  // namespace

TEST_CASE("law: a toy release plans as the one it was made of, and replays by the one rule that it changed") {
  const Scenario vllm = read_scenario(file_of("vllm-0.33")), toy = read_scenario(file_of("toy-0.34"));
  CachePlan planned = plan_scenario(toy, {1}).plans.front();
  CHECK(planned.rules == toy_release().rules);
  planned.rules = vllm.engine.rules;
  CHECK(planned.arenas == plan_scenario(vllm, {1}).plans.front().arenas);
  const ReplayedCache all = replayed("toy-0.34"), last = replayed("vllm-0.33");
  CHECK(all.counts().checkpoints_made > last.counts().checkpoints_made);
  CHECK(all.counts().taken_prompt_tokens == last.counts().taken_prompt_tokens);
  CHECK(all.losses->total.token_exact_tokens == last.losses->total.token_exact_tokens);
}

TEST_CASE("law: a toy release answers the questions, under its own name") {
  const ScenarioFile file = file_of("toy-0.34");
  const Scenario scenario = read_scenario(file);
  CHECK(contains(render_simulate(simulate({scenario.simulate, planned_caches(scenario)}), Format::json),
                 "\"release\": \"toy-0.34\""));
  const std::vector<BoundAnswer> bound = bounds(compare_settings({file}, {}, 1));
  CHECK(bound.front().layout.feasible_tokens >= bound.front().found_tokens);
  const CompareAnswer comparison = compare(compare_settings({file, file_of("vllm-0.33")}, {}, 1), {.wanted = true});
  CHECK(comparison.num_refused() == 0);
  const SweepPoint point = SweepWorker(ScenarioSweep(file), {.verify = true, .simulate = true}).answer({0}).front();
  CHECK(point.status == PointStatus::ok);
  CHECK(point.verification == Verdict::passed);
  CHECK(memory_curves(plot_inputs(scenario)).found.front().back().has_value());
  const RecommendAnswer answer = recommend_scenario(scenario, {});
  CHECK(answer.pick.serve.command.starts_with("vllm serve "));
}

TEST_CASE("edge: another name is refused with those of this program's engines") {
  CHECK_THROWS_WITH_AS(read_scenario(file_of("sglang-0.5.23")), doctest::Contains("toy-0.34"), InputError);
  CHECK_THROWS_WITH_AS(read_scenario(file_of("toy-0.35")), doctest::Contains("did you mean 'toy-0.34'"), InputError);
}
