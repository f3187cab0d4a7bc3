#include "cli/report_parts.h"

#include <fmt/format.h>

#include "ask/recommend.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "base/error.h"
#include "report/recommend/recommend_report.h"
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

AnsweredPart recommendation_part(const Scenario& scenario, Progress& progress) {
  const auto watch = [&](const RecommendProgress& at) {
    progress.update("recommend", at.what, static_cast<int>(at.done), static_cast<int>(at.total));
  };
  return part_or_refusal([&]() -> AnsweredPart {
    const RecommendAnswer answer = recommend_scenario(scenario, {}, watch);
    return {recommend_pick(answer), recommend_front(answer), "What it was chosen from", {}};
  });
}

AnsweredPart replay_part(const Scenario& scenario, Progress& progress) {
  SimulateWatch watch;
  watch.on_progress = [&](const SweepProgress& at) {
    progress.update("simulate", "per cent of the trace", static_cast<int>(100 * at.fraction), 100);
  };
  return part_or_refusal([&]() -> AnsweredPart {
    return {.shown = simulate_report(simulate({scenario.simulate, planned_caches(scenario)}, watch))};
  });
}

}  // namespace hybridkv
