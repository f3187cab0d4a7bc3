#include "ask/fleet/fleet.h"

#include <doctest/doctest.h>

#include "ask/replay/planned_caches.h"
#include "base/error.h"
#include "scenarios/read.h"

using namespace hybridkv;

namespace {

Scenario fleet_scenario(const std::string& release) {
  return read_scenario(parse_scenario("model: Qwen3.5-4B\nengine: {release: " + release +
                                      ", cache_mode: align, memory: 3 GiB}\nlimits: {max_model_len: 16k}\n"
                                      "simulate: {upper_bounds: true, trace: {max_requests: 300}}\n", "fleet.yaml"));
}

FleetAnswer asked(const Scenario& scenario, std::int64_t replicas, const std::vector<RouterKind>& kinds) {
  SimulateRequest request = scenario.simulate;
  request.fleet = {.replicas = replicas, .routers = kinds};
  return simulate_fleet({request, planned_caches(scenario), {}}, scenario_bounds(scenario, replicas));
}

}  // namespace

TEST_CASE("law: one replica is one store, and what fleets find is within the bound, in every engine") {
  for (const char* const release : {"vllm-2026-06", "vllm-0.33", "sglang-0.5.23"}) {
    CAPTURE(release);
    const Scenario scenario = fleet_scenario(release);
    const FleetCache one = asked(scenario, 1, {RouterKind::round_robin}).caches.front();
    CHECK(one.routers.front().result.counts == one.one_store);
    const FleetCache four = asked(scenario, 4, {RouterKind::round_robin, RouterKind::session, RouterKind::approximate,
                                                RouterKind::gateway}).caches.front();
    REQUIRE(four.bound);
    for (const RoutedFleet& routed : four.routers) {
      CHECK(routed.result.counts.hit_tokens <= four.bound->upper_tokens);
      CHECK(routed.result.counts.requests == 300);
    }
    CHECK(four.one_store.hit_tokens <= four.bound->upper_tokens);
    CHECK(four.bound->memory_bytes == 4 * one.bound->memory_bytes);
    // Whoever keeps conversations together finds more than who does not.
    CHECK(four.best().result.counts.hit_tokens > four.routers.front().result.counts.hit_tokens);
  }
}

TEST_CASE("rule: one store has every pool of all replicas, those on the host too, but one null block") {
  const auto store_of = [](auto cache) { return std::get<decltype(cache)>(with_memory_of(cache, 3)); };
  CacheGeometry blocks;
  blocks.num_blocks = 11;
  blocks.more_arenas = {5};
  blocks.host.emplace().memory_bytes = 700;
  const CacheGeometry of_blocks = store_of(blocks);
  CHECK(of_blocks.num_blocks == 31);
  CHECK(of_blocks.more_arenas == std::vector<std::int64_t>{13});
  CHECK(of_blocks.host->memory_bytes == 2100);
  const TreeSettings tree =
      store_of(TreeCache{.settings = {.token_slots = 60, .state_slots = 5, .host = {.tokens = 200, .states = 20}}})
          .settings;
  CHECK(tree == TreeSettings{.token_slots = 180, .state_slots = 15, .host = {.tokens = 600, .states = 60}});
  const SnapshotSettings snapshots =
      store_of(SnapshotCache{.settings = {.blocks = 40, .states = 4, .host_blocks = 60, .host_states = 6}}).settings;
  CHECK(snapshots == SnapshotSettings{.blocks = 120, .states = 12, .host_blocks = 180, .host_states = 18});
  const auto slots_of = [&](std::int64_t saved_bytes) {
    return store_of(SlotCache{.settings = {.slots = 4, .cells = 64, .saved_bytes = saved_bytes}}).settings;
  };
  CHECK(slots_of(1000) == SlotSettings{.slots = 12, .cells = 192, .saved_bytes = 3000});
  CHECK(slots_of(-1).saved_bytes == -1);  // no limit
}

TEST_CASE("rule: a router that does not know of states takes more to be found than is") {
  const FleetCache cache =
      asked(fleet_scenario("vllm-0.33"), 4, {RouterKind::precise, RouterKind::states}).caches.front();
  const RoutingCounts &precise = cache.routers[0].result.routing, &states = cache.routers[1].result.routing;
  CHECK(precise.overstated_tokens > 0);
  CHECK(states.overstated_tokens < precise.overstated_tokens);
}

TEST_CASE("fault: fleets of what has no events, and losses, which are one replica's") {
  Scenario scenario = fleet_scenario("sglang-0.5.23");
  CHECK_THROWS_WITH(asked(scenario, 2, {RouterKind::precise}),
                    doctest::Contains("hears events of pools of blocks"));
  scenario = fleet_scenario("vllm-0.33");
  scenario.simulate.losses = true;
  CHECK_THROWS_AS(asked(scenario, 2, {RouterKind::random}), SpecError);
}
