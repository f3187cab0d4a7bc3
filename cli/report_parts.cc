#include "cli/report_parts.h"

#include <fmt/format.h>

#include <utility>

#include "ask/plan.h"
#include "ask/recommend.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "base/error.h"
#include "cli/replay_progress.h"
#include "report/recommend/recommend_glance.h"
#include "report/recommend/recommend_report.h"
#include "report/recommend/search_reporter.h"
#include "report/replay/simulate_report.h"

namespace hybridkv {

namespace {

/// The part, or the sentence of its refusal: a page is written whatever one of its questions cannot answer.
template <class Make>
AnsweredPart part_or_refusal(Make make) {
  try {
    return make();
  } catch (const InputError& error) {
    return {.why_not = fmt::format("Not to be had: {}", error.what())};
  }
}

}  // namespace

void add_recommendation(ScenarioReportInputs& report, const Scenario& scenario, const std::vector<KernelCard>& kernels,
                        Progress& progress) {
  const auto watch = [&](const RecommendProgress& at) {
    progress.update("recommend", at.what, static_cast<int>(at.done), static_cast<int>(at.total));
  };
  report.recommendation = part_or_refusal([&]() -> AnsweredPart {
    const RecommendAnswer answer = recommend_scenario(scenario, {.space = {}, .kernels = kernels}, watch);
    const Scenario picked = scenario_of(scenario, answer, answer.result.pick);
    report.first.answer = recommend_glance(answer);
    CachePlan plan = plan_pack(picked, 0);
    plan.kernels = answer.pick_kernels();
    report.first.memory = full_memory(reporter_of(answer.result).settings(answer, answer.picked()), std::move(plan),
                                      answer.result.at_length);
    return {recommend_pick(answer), recommend_front(answer), "What it was chosen from", {}};
  });
  if (report.first.memory) return;
  const PlanSet& set = report.planned.set;
  const CachePlan& best = set.plans[report.findings.packs.best];
  report.first.memory = full_memory(fmt::format("N = {}", best.attention_pack_size), best, longest_length(set));
}

AnsweredPart replay_part(const Scenario& scenario, Progress& progress) {
  const SimulateWatch watch{.on_progress = shown_in(progress, "simulate")};
  return part_or_refusal([&]() -> AnsweredPart {
    return {.shown = simulate_report(simulate({scenario.simulate, planned_caches(scenario)}, watch))};
  });
}

}  // namespace hybridkv
