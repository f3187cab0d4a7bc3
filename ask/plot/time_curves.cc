#include "ask/plot/time_curves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate_request.h"
#include "base/error.h"

namespace hybridkv {

TimeCurves time_curves(const std::vector<TimedSetting>& settings, const TimedQuestion& question,
                       const std::vector<double>& rates,
                       const std::function<void(int done, int total)>& on_progress) {
  TimeCurves curves;
  int done = 0;
  for (const TimedSetting& setting : settings) {
    if (on_progress) on_progress(done++, static_cast<int>(settings.size()));
    curves.model = setting.scenario.model.name;
    try {
      for (const AnyCache& cache : planned_caches(setting.scenario)) {
        Scenario scenario = setting.scenario;
        const TimedAnswer timed = set_clock(scenario, cache, question);
        if (scenario.simulate.driver.kind != DriverKind::open_loop)
          throw InputError("--gpu: load is drawn of requests that come by their times; leave --driver out");
        LoadCurve curve = load_curve({scenario.simulate, {cache}, timed}, rates);
        if (!setting.name.empty()) curve.name = setting.name;
        curves.curves.push_back(std::move(curve));
      }
    } catch (const InputError& error) {
      if (settings.size() == 1) throw;
      curves.refused.push_back(fmt::format("{}: {}", setting.name, error.what()));
    }
  }
  if (curves.curves.empty())
    throw InputError(fmt::format("none of these can be replayed by a clock:\n  {}", fmt::join(curves.refused, "\n  ")));
  return curves;
}

}  // namespace hybridkv
