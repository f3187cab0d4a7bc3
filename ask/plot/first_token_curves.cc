#include "ask/plot/first_token_curves.h"

#include "ask/plot/replay_curves.h"
#include "ask/replay/planned_caches.h"
#include "ask/replay/simulate.h"
#include "ask/replay/simulate_request.h"
#include "base/add_once.h"
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

/// Of one setting in one memory; adds the label of its clock where that is new.
FirstToken first_token_of(Scenario scenario, std::vector<std::string>& clocks) {
  const std::optional<AnyCache> cache = planned_cache(scenario);
  if (!cache) return {};
  const std::optional<TimedAnswer> timed = set_clock(scenario, *cache);
  const std::string clock = clock_label(timed.value().served);
  add_once(clocks, clock);
  const SimulateAnswer answer = simulate(
      {.request = scenario.simulate, .caches = {*cache}, .timed = timed, .uncached = false});
  const ServedTimes& times = answer.caches.front().times.value();
  if (times.overloaded()) return {.seconds = std::nullopt, .overloaded = true};
  return {.seconds = times.requests() > 0 ? std::optional(times.first_token.mean()) : std::nullopt};
}

}  // namespace

FirstTokens first_token_curves(const std::vector<CompareSetting>& settings) {
  FirstTokens curves{.memory_bytes = memories_around(settings.front().scenario.engine.memory_bytes)};
  for (const CompareSetting& setting : settings) {
    curves.names.push_back(setting.name);
    std::vector<FirstToken>& of_setting = curves.of.emplace_back(curves.memory_bytes.size());
    if (engine_of(*setting.scenario.engine.rules).clock == nullptr) continue;
    for (std::size_t i = 0; i < of_setting.size(); ++i) {
      Scenario scenario = setting.scenario;
      set_memory(scenario.engine, curves.memory_bytes[i]);
      of_setting[i] = first_token_of(scenario, curves.clocks);
    }
  }
  return curves;
}

}  // namespace hybridkv
