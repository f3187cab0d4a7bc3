#include "ask/fleet/fleet.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "simulator/trace/trace_spec.h"
#include "simulator/trace/trace_totals.h"

namespace hybridkv {

namespace {

/// Gives a cache the memory of several.
struct Enlarge {
  std::int64_t by;

  // A pool's first block is the null block, of which one store has one.
  std::int64_t blocks(std::int64_t of_one) const { return Checked(of_one - 1) * by + 1; }
  void operator()(CacheGeometry& cache) const {
    if (cache.shares_large_pages()) {
      cache.set_large_pages(blocks(cache.num_large_pages()));
    } else {
      cache.num_blocks = blocks(cache.num_blocks);
      for (std::int64_t& arena : cache.more_arenas) arena = blocks(arena);
    }
    if (cache.host && cache.host->memory_bytes) cache.host->memory_bytes = Checked(*cache.host->memory_bytes) * by;
  }
  void operator()(TreeCache& cache) const {
    cache.settings.token_slots = Checked(cache.settings.token_slots) * by;
    cache.settings.state_slots = Checked(cache.settings.state_slots) * by;
    cache.settings.host.tokens = Checked(cache.settings.host.tokens) * by;
    cache.settings.host.states = Checked(cache.settings.host.states) * by;
  }
  void operator()(SlotCache& cache) const {
    cache.settings.slots = Checked(cache.settings.slots) * by;
    cache.settings.cells = Checked(cache.settings.cells) * by;
    if (cache.settings.saved_bytes > 0) cache.settings.saved_bytes = Checked(cache.settings.saved_bytes) * by;
  }
  void operator()(SnapshotCache& cache) const {
    cache.settings.blocks = Checked(cache.settings.blocks) * by;
    cache.settings.states = Checked(cache.settings.states) * by;
    cache.settings.host_blocks = Checked(cache.settings.host_blocks) * by;
    cache.settings.host_states = Checked(cache.settings.host_states) * by;
  }
};

/// All requests one after the other, with their output where the fleet generates it and the cache can.
DriverSpec one_after_the_other(const DriverSpec& driver, const AnyCache& cache) {
  if (driver.kind == DriverKind::one_at_a_time || std::holds_alternative<SlotCache>(cache)) return {};
  return {.kind = DriverKind::closed_loop};
}

/// What is tried where nobody names routers: some that differ, of those that every cache can have.
std::vector<RouterKind> usual_routers(const std::vector<AnyCache>& caches) {
  const bool all_have_events = std::all_of(caches.begin(), caches.end(), [](const AnyCache& cache) {
    return std::holds_alternative<CacheGeometry>(cache);
  });
  if (!all_have_events) return {RouterKind::round_robin, RouterKind::approximate, RouterKind::gateway};
  return {RouterKind::round_robin, RouterKind::approximate, RouterKind::precise, RouterKind::states};
}

}  // namespace

const RoutedFleet& FleetCache::best() const {
  return *std::max_element(routers.begin(), routers.end(), [](const RoutedFleet& a, const RoutedFleet& b) {
    return a.result.counts.hit_tokens < b.result.counts.hit_tokens;
  });
}

AnyCache with_memory_of(const AnyCache& cache, std::int64_t replicas) {
  AnyCache larger = cache;
  std::visit(Enlarge{replicas}, larger);
  return larger;
}

FleetAnswer simulate_fleet(const SimulateQuestion& question, const std::vector<std::optional<LayoutBound>>& bounds,
                           const FleetWatch& watch) {
  const SimulateRequest& request = question.request;
  const FleetQuestion& fleet = request.fleet;
  if (request.losses)
    throw SpecError("simulate.losses", "they are booked for one replica; leave them out, or --replicas");
  std::vector<RouterSettings> routers;
  for (const RouterKind kind : fleet.routers.empty() ? usual_routers(question.caches) : fleet.routers) {
    RouterSettings& router = routers.emplace_back(fleet.router);
    router.kind = kind;
    router.seed = request.trace.synthetic.seed;
  }
  FleetAnswer answer{.trace = describe(request.trace),
                     .replicas = fleet.replicas,
                     .decode = fleet.decode,
                     .driver = request.driver,
                     .caches = {},
                     .timed = question.timed};
  std::vector<std::unique_ptr<Replay>> replays;
  std::vector<FleetReplay*> fleets;   // (cache, router)
  std::vector<CacheReplay*> stores;   // (cache)
  const auto add = [&](auto replay) {
    auto* const added = replay.get();
    replays.push_back(std::move(replay));
    return added;
  };
  for (const AnyCache& cache : question.caches) {
    for (const RouterSettings& router : routers) {
      FleetSpec spec{.replica = {.cache = cache, .driver = request.driver},
                     .replicas = fleet.replicas,
                     .router = router,
                     .slowness = fleet.slowness,
                     .outages = fleet.outages,
                     .decode = fleet.decode};
      check_replay(spec.replica);
      if (watch.on_served)
        spec.on_served = [&watch, of_cache = stores.size(), of_router = fleets.size() % routers.size()](
                             const RoutedRequest& served) { watch.on_served(of_cache, of_router, served); };
      fleets.push_back(add(std::make_unique<FleetReplay>(spec)));
    }
    stores.push_back(add(make_replay({.cache = with_memory_of(cache, fleet.replicas),
                                      .driver = one_after_the_other(request.driver, cache)})));
  }
  const TraceTotals& totals = add_totals(replays);
  const std::unique_ptr<TraceSource> trace = open_trace(request.trace);
  if (watch.on_start) watch.on_start(routers.size());
  run_replays(*trace, replays, 0, watch.on_progress);
  answer.requests = totals.requests();
  auto next = fleets.begin();
  for (std::size_t i = 0; i < question.caches.size(); ++i) {
    FleetCache& cache = answer.caches.emplace_back();
    cache.name = name_of(question.caches[i]);
    for (const RouterSettings& router : routers) cache.routers.push_back({router, (*next++)->result()});
    cache.one_store = counts_of(stores[i]->result().index);
    if (i < bounds.size()) cache.bound = bounds[i];
  }
  return answer;
}

}  // namespace hybridkv
