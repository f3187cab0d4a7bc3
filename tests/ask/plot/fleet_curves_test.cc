// What is drawn of replicas behind routers adds up to what their replay says.
#include "ask/plot/fleet_curves.h"

#include <doctest/doctest.h>

#include <numeric>

#include "scenarios/read.h"

using namespace hybridkv;

namespace {

FleetCurves curves_of(const std::string& release, const std::string& more) {
  return fleet_curves(read_scenario(parse_scenario("model: Qwen3.5-4B\nengine: {release: " + release +
                                                       ", cache_mode: align, memory: 3 GiB" + more +
                                                       "}\nlimits: {max_model_len: 16k}\n"
                                                       "simulate:\n  trace: {max_requests: 500}\n"
                                                       "  fleet: {replicas: 3, router: [round-robin, session]}\n",
                                                   "fleet.yaml")));
}

}  // namespace

TEST_CASE("law: stretches of a trace add up to what the fleet found and computed of all of it") {
  for (const char* const release : {"vllm-2026-06", "sglang-0.5.23"}) {
    CAPTURE(release);
    const FleetCurves curves = curves_of(release, "");
    CHECK(curves.stretch_requests == 9);
    for (std::size_t router = 0; router < 2; ++router) {
      const FleetResult& result = curves.answer.caches[0].routers[router].result;
      std::int64_t found = 0, prompt = 0;
      std::vector<std::int64_t> computed(3);
      for (const FleetStretch& stretch : curves.courses[0][router]) {
        found += stretch.found_tokens;
        prompt += stretch.prompt_tokens;
        for (std::size_t i = 0; i < 3; ++i) computed[i] += stretch.computed_tokens[i];
        CHECK(stretch.imbalance() >= 1);
      }
      CHECK(found == result.counts.hit_tokens);
      CHECK(prompt == result.counts.taken_prompt_tokens);
      CHECK(computed == result.computed_tokens);
    }
  }
}

TEST_CASE("law: what is found and the gaps behind it are the bound of the best layout, of every router") {
  const FleetCurves curves = curves_of("vllm-2026-06", ", attention_pack_size: [1, 4]");
  double bound = 0;
  for (const FleetCache& cache : curves.answer.caches)
    bound = std::max(bound, cache.bound.value().rate(cache.bound->upper_tokens));
  CHECK(curves.answer.caches.size() == 2);
  for (const FleetCache& cache : curves.answer.caches)
    for (const RoutedFleet& routed : cache.routers) {
      const FleetGaps gaps = gaps_of(curves.answer, cache, routed);
      for (const double gap : {gaps.found, gaps.routing, gaps.sharing, gaps.layout, gaps.policy}) CHECK(gap >= 0);
      CHECK(gaps.found + gaps.routing + gaps.sharing + gaps.layout + gaps.policy == doctest::Approx(bound));
      CHECK(gaps.found == routed.found_rate());
    }
  // One of the layouts is the best, and of its routers one is.
  const auto least = [&](double FleetGaps::*gap) {
    double smallest = 1;
    for (const FleetCache& cache : curves.answer.caches)
      for (const RoutedFleet& routed : cache.routers)
        smallest = std::min(smallest, gaps_of(curves.answer, cache, routed).*gap);
    return smallest;
  };
  CHECK(least(&FleetGaps::layout) == 0);
  CHECK(least(&FleetGaps::routing) == 0);
}
