#include "ask/clock/load_curve.h"

#include <algorithm>

#include "ask/clock/kept_limits.h"

namespace hybridkv {

std::optional<double> LoadCurve::most_rate(double share) const {
  if (!timed.limits.any()) return std::nullopt;
  std::optional<double> most;
  for (const LoadPoint& point : points) {
    if (good_share(point.cached) < share) break;
    most = point.rate;
  }
  return most;
}

LoadCurve load_curve(const SimulateQuestion& question, std::vector<double> rates, const SimulateWatch& watch) {
  std::sort(rates.begin(), rates.end());
  LoadCurve curve{.timed = *question.timed, .trace = {}, .name = {}, .points = {}};
  for (const double rate : rates) {
    SimulateQuestion one = question;
    one.request.driver.rate = one.timed->rate = rate;
    const SimulateAnswer answer = simulate(one, watch);
    const ReplayedCache& cache = answer.caches.front();
    curve.trace = answer.trace;
    curve.name = cache.name;
    curve.points.push_back({.rate = rate, .offered = cache.times->offered(), .cached = *cache.times,
                            .uncached = *cache.uncached});
  }
  return curve;
}

}  // namespace hybridkv
