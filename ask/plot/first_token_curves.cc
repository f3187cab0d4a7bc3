#include "ask/plot/first_token_curves.h"

#include "ask/plot/replay_curves.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "ask/replay/simulate_request.h"
#include "base/error.h"
#include "engines/engine.h"

namespace hybridkv {

namespace {

/// Nothing where it cannot be planned: whoever asks for the plan is told why.
std::optional<AnyCache> planned_cache(const Scenario& scenario) {
  try {
    return planned_caches(scenario).front();
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Mean seconds of one setting; sets the clock's label.
std::optional<double> first_token_of(Scenario scenario, std::string& clock) {
  const std::optional<AnyCache> cache = planned_cache(scenario);
  if (!cache) return std::nullopt;
  const std::optional<TimedAnswer> timed = set_clock(scenario, *cache);
  clock = clock_label(timed.value().served);
  const SimulateAnswer answer = simulate({scenario.simulate, {*cache}, timed});
  const ServedTimes& times = answer.caches.front().times.value();
  return times.requests() > 0 ? std::optional(times.first_token.mean()) : std::nullopt;
}

}  // namespace

FirstTokens first_token_curves(const std::vector<CompareSetting>& settings) {
  FirstTokens curves{.memory_bytes = memories_around(settings.front().scenario.engine.memory_bytes)};
  for (const CompareSetting& setting : settings) {
    curves.names.push_back(setting.name);
    std::vector<std::optional<double>>& seconds = curves.seconds.emplace_back(curves.memory_bytes.size());
    if (engine_of(*setting.scenario.engine.rules).clock == nullptr) continue;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      Scenario scenario = setting.scenario;
      set_memory(scenario.engine, curves.memory_bytes[i]);
      seconds[i] = first_token_of(scenario, curves.clock);
    }
  }
  return curves;
}

}  // namespace hybridkv
