// Fleets: laws between several replicas behind a router and each of them alone.
#include "simulator/fleet/fleet_replay.h"

#include <doctest/doctest.h>

#include <cmath>
#include <rapidcheck.h>

#include "tests/clock/clock_cases.h"
#include "tests/simulator/blocks/random_geometry_033.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

constexpr RouterKind all_routers[] = {
    RouterKind::round_robin, RouterKind::random,  RouterKind::least_requests, RouterKind::least_tokens,
    RouterKind::session,     RouterKind::sticky,  RouterKind::approximate,    RouterKind::gateway,
    RouterKind::precise,     RouterKind::sparse,  RouterKind::states};

/// Conversations that go on, some behind the same beginning, in order of time.
TraceBatch chat_trace(Dice& dice, std::int64_t requests) {
  struct Chat {
    PromptSegments prompt;
  };
  TraceBatch batch;
  std::vector<Chat> chats;
  double now = 0;
  std::uint64_t content = 10;
  for (std::int64_t i = 0; i < requests; ++i) {
    now += static_cast<double>(dice.roll(0, 30)) / 10;
    if (chats.empty() || dice.chance(30))
      chats.push_back({{{static_cast<std::uint64_t>(dice.roll(1, 3)), dice.roll(1, 20)}}});
    const auto chat = static_cast<std::size_t>(dice.roll(0, std::ssize(chats) - 1));
    chats[chat].prompt.push_back({++content, dice.roll(1, 15)});
    add_request(batch, chats[chat].prompt, dice.roll(0, 4), now);
    batch.requests.back().chat_id = static_cast<std::int64_t>(chat);
  }
  return batch;
}

DriverSpec fleet_driver(Dice& dice) {
  DriverSpec driver{.kind = std::vector{DriverKind::one_at_a_time, DriverKind::closed_loop,
                                        DriverKind::open_loop}[static_cast<std::size_t>(dice.roll(0, 2))],
                    .in_flight = dice.roll(1, 6)};
  if (dice.chance(50)) driver.clock = std::make_shared<const StepClock>(some_hybrid(), ClockSplit{}, some_gpu(),
                                                                        Coefficients{});
  else driver.cost = {.per_prefill_token = 0.05, .per_decode_step = 0.2};
  return driver;
}

FleetResult run_fleet(const FleetSpec& spec, const TraceBatch& batch) {
  FleetReplay replay(spec);
  replay.consume(batch);
  replay.finish();
  return replay.result();
}

/// All that both ways of running one cache say of it.
void check_alike(const ReplayResult& fleet, const Run& alone) {
  const auto& stats = std::get<SimulationStats>(fleet.index);
  RC_ASSERT(static_cast<const ReplayCounts&>(stats) == static_cast<const ReplayCounts&>(alone.stats));
  RC_ASSERT(stats.steps == alone.stats.steps);
  RC_ASSERT(stats.preemptions == alone.stats.preemptions);
  RC_ASSERT(stats.pool == alone.stats.pool);
  RC_ASSERT(stats.times == alone.stats.times);
}

/// A cache in which a router that knows all can tell what a request will find: hits end at whole blocks, and nothing
/// but what is held goes.
CacheGeometry telling(Dice& dice) {
  CacheGeometry g = dice.chance(50) ? random_geometry(dice) : random_geometry_033(dice);
  g.drafter_drops_block = false;
  g.speculative_tokens = g.rules.lookahead_tokens = 0;
  g.match_unit_tokens.reset();
  return g;
}

bool has_attention(const CacheGeometry& geometry) {
  for (std::int64_t group = 0; group < geometry.attention_groups; ++group)
    if (!geometry.is_windowed(group)) return true;
  return false;
}

}  // namespace

TEST_CASE("law: a fleet of one is the replay of its cache alone, whatever the router") {
  CHECK(rc::check([](std::uint64_t seed) {
    Dice dice(seed);
    const CacheGeometry geometry = dice.chance(50) ? random_arenas(dice) : random_geometry_033(dice);
    const DriverSpec driver = fleet_driver(dice);
    const TraceBatch batch = chat_trace(dice, dice.roll(1, 40));
    for (const RouterKind kind : all_routers) {
      const FleetResult fleet = run_fleet({.replica = {.cache = geometry, .driver = driver},
                                           .router = {.kind = kind, .block_tokens = {}}}, batch);
      check_alike(fleet.replicas.front(), run(geometry, driver, batch));
      if (driver.clock) RC_ASSERT(fleet.times->spent() == fleet.replicas.front().times->spent());
    }
  }));
}

TEST_CASE("law: replicas with sessions of their own are replays of the trace in parts") {
  CHECK(rc::check([](std::uint64_t seed) {
    Dice dice(seed);
    const CacheGeometry geometry = random_geometry(dice);
    DriverSpec driver = fleet_driver(dice);
    if (driver.kind == DriverKind::closed_loop) driver.kind = DriverKind::one_at_a_time;
    const TraceBatch batch = chat_trace(dice, dice.roll(1, 60));
    const std::int64_t replicas = dice.roll(2, 5);
    const FleetResult fleet = run_fleet({.replica = {.cache = geometry, .driver = driver},
                                         .replicas = replicas,
                                         .router = {.kind = RouterKind::session, .block_tokens = {}}}, batch);
    SessionNames names(1);
    std::vector<std::uint64_t> place;  // (request)
    for (const TraceRequest& request : batch.requests)
      place.push_back(names.of(request, batch.prompt(request)) % static_cast<std::uint64_t>(replicas));
    for (std::int64_t replica = 0; replica < replicas; ++replica) {
      TraceBatch part = batch;
      std::erase_if(part.requests, [&](const TraceRequest& request) {
        return place[static_cast<std::size_t>(request.index)] != static_cast<std::uint64_t>(replica);
      });
      // Where time costs nothing, users of one part wait for none of another.
      const Run alone = run(geometry, driver, part);
      const auto& stats = std::get<SimulationStats>(fleet.replicas[static_cast<std::size_t>(replica)].index);
      RC_ASSERT(static_cast<const ReplayCounts&>(stats) == static_cast<const ReplayCounts&>(alone.stats));
      RC_ASSERT(stats.pool == alone.stats.pool);
      if (driver.kind == DriverKind::open_loop) RC_ASSERT(stats.times == alone.stats.times);
    }
  }));
}

TEST_CASE("law: what replicas say adds up, and a fleet run again says the same") {
  CHECK(rc::check([](std::uint64_t seed) {
    Dice dice(seed);
    const CacheGeometry geometry = random_geometry(dice);
    const DriverSpec driver = fleet_driver(dice);
    const TraceBatch batch = chat_trace(dice, dice.roll(1, 60));
    const RouterKind kind = all_routers[static_cast<std::size_t>(dice.roll(0, std::ssize(all_routers) - 1))];
    std::int64_t records = 0;
    FleetSpec spec{.replica = {.cache = geometry, .driver = driver},
                   .replicas = dice.roll(1, 6),
                   .router = {.kind = kind, .seed = seed, .block_tokens = {}},
                   .slowness = {1.5}};
    spec.replica.on_record = [&](const RecordView&, const ReuseLoss*) { ++records; };
    const FleetResult fleet = run_fleet(spec, batch);
    RC_ASSERT(fleet.counts.requests == std::ssize(batch.requests));
    RC_ASSERT(records == std::ssize(batch.requests));
    std::int64_t prompts = 0, hits = 0, computed = 0;
    for (const ReplayResult& replica : fleet.replicas) {
      prompts += counts_of(replica.index).prompt_tokens;
      hits += counts_of(replica.index).hit_tokens;
    }
    for (const std::int64_t tokens : fleet.computed_tokens) computed += tokens;
    RC_ASSERT(fleet.counts.prompt_tokens == prompts);
    RC_ASSERT(fleet.counts.hit_tokens == hits);
    RC_ASSERT(computed == prompts - hits);
    RC_ASSERT(fleet.imbalance() >= 1);
    RC_ASSERT(fleet.blocks->repeated <= fleet.blocks->findable);
    if (driver.clock) {
      RC_ASSERT(fleet.times->requests() == fleet.counts.ended());
      RC_ASSERT(fleet.times->found_tokens() == hits);
      // What a request does not wait for to begin it runs; each is rounded to a microsecond.
      double running = 0;
      for (const std::int64_t micros : fleet.running_microseconds) running += 1e-6 * static_cast<double>(micros);
      const DurationHistogram &whole = fleet.times->end_to_end, &waiting = fleet.times->queueing;
      const auto requests = static_cast<double>(whole.count());
      const double expected = requests * (whole.mean() - waiting.mean());
      RC_ASSERT(std::abs(running - expected) < 1e-6 * (requests + 1) + 1e-9 * running);
      RC_ASSERT(fleet.running_imbalance() >= 1);
    }
    if (fleet.routing.believes)
      RC_ASSERT(fleet.routing.believed_tokens - fleet.routing.overstated_tokens + fleet.routing.unseen_tokens == hits);
    const FleetResult again = run_fleet(spec, batch);
    RC_ASSERT(again.counts == fleet.counts);
    RC_ASSERT(again.times == fleet.times);
    RC_ASSERT(again.computed_tokens == fleet.computed_tokens);
  }));
}

TEST_CASE("law: a router that hears of every group at once knows what a request finds; one of attention says more") {
  int found = 0, overstated = 0;
  CHECK(rc::check([&](std::uint64_t seed) {
    Dice dice(seed);
    const CacheGeometry geometry = telling(dice);
    const TraceBatch batch = chat_trace(dice, dice.roll(1, 60));
    const auto routed = [&](RouterKind kind) {
      return run_fleet({.replica = {.cache = geometry}, .replicas = 3, .router = {.kind = kind, .block_tokens = {}}},
                       batch);
    };
    const FleetResult states = routed(RouterKind::states), precise = routed(RouterKind::precise);
    RC_ASSERT(states.routing.overstated_tokens == 0);
    RC_ASSERT(states.routing.unseen_tokens == 0);
    // Who hears of attention alone knows nothing of a cache without.
    if (has_attention(geometry)) RC_ASSERT(precise.routing.unseen_tokens == 0);
    found += states.counts.hit_tokens > 0 ? 1 : 0;
    overstated += precise.routing.overstated_tokens > 0 ? 1 : 0;
  }));
  CHECK(found > 5);
  CHECK(overstated > 0);
}

TEST_CASE("law: replicas that fail lose nobody's request, and one that never fails is as if nobody did") {
  std::int64_t resent = 0;
  CHECK(rc::check([&](std::uint64_t seed) {
    Dice dice(seed);
    DriverSpec driver = fleet_driver(dice);
    driver.kind = DriverKind::open_loop;
    const TraceBatch batch = chat_trace(dice, dice.roll(1, 60));
    FleetSpec spec{.replica = {.cache = random_geometry(dice), .driver = driver},
                   .replicas = dice.roll(2, 4),
                   .router = {.kind = all_routers[static_cast<std::size_t>(dice.roll(0, std::ssize(all_routers) - 1))],
                              .block_tokens = {}}};
    const FleetResult before = run_fleet(spec, batch);
    spec.outages = {{.replica = 1, .from = 1e9}};
    RC_ASSERT(run_fleet(spec, batch).counts == before.counts);
    const double from = static_cast<double>(dice.roll(0, 60));
    spec.outages = {{.replica = 0, .from = from, .until = from + static_cast<double>(dice.roll(1, 30))},
                    {.replica = 1, .from = from + 40}};
    const FleetResult failed = run_fleet(spec, batch);
    RC_ASSERT(failed.counts.requests == std::ssize(batch.requests));
    RC_ASSERT(failed.counts.taken_prompt_tokens == before.counts.taken_prompt_tokens);
    if (driver.clock) RC_ASSERT(failed.times->requests() == failed.counts.ended());
    resent += failed.resent;
  }));
  CHECK(resent > 0);
}

TEST_CASE("rule: what a replica had cached is lost when it fails, and who waits is served by another") {
  TraceBatch batch;
  for (int i = 0; i < 10; ++i) add_request(batch, {{1, 41}}, 4, i);
  const CacheGeometry geometry{.block_size_tokens = 4, .num_blocks = 100, .state_groups = 1};
  const DriverSpec driver{.kind = DriverKind::open_loop, .cost = {.per_prefill_token = 0.01, .per_decode_step = 0.05}};
  FleetSpec spec{.replica = {.cache = geometry, .driver = driver},
                 .replicas = 2,
                 .router = {.kind = RouterKind::session, .block_tokens = {}}};
  CHECK(run_fleet(spec, batch).counts.hit_tokens == 9 * 40);
  // Its home fails in the first request, which the other one serves, and is back for the last three with nothing.
  const FleetResult whole = run_fleet(spec, batch);
  const std::int64_t home = counts_of(whole.replicas[0].index).requests > 0 ? 0 : 1;
  spec.outages = {{.replica = home, .from = 0.1, .until = 6.5}};
  const FleetResult failed = run_fleet(spec, batch);
  CHECK(failed.resent == 1);
  CHECK(failed.counts.requests == 10);
  CHECK(failed.counts.hit_tokens == (6 + 2) * 40);
}

TEST_CASE("rule: a replica that is back has nothing in flight, and gets its part of the requests again") {
  // It fails in the first request, which the other one serves. Of those that come when it is back, with nothing else
  // under way, each goes to who has got fewer so far: to it, to the other one, to it.
  TraceBatch batch;
  for (int i = 0; i < 4; ++i) add_request(batch, {{static_cast<std::uint64_t>(1 + i), 41}}, 4, 10 * i);
  const FleetSpec spec{.replica = {.cache = CacheGeometry{.block_size_tokens = 4, .num_blocks = 100},
                                   .driver = {.kind = DriverKind::open_loop,
                                              .cost = {.per_prefill_token = 0.01, .per_decode_step = 0.05}}},
                       .replicas = 2,
                       .router = {.kind = RouterKind::least_requests, .block_tokens = {}},
                       .outages = {{.replica = 0, .from = 0.1, .until = 5}}};
  const FleetResult result = run_fleet(spec, batch);
  CHECK(result.resent == 1);
  CHECK(counts_of(result.replicas[0].index).requests == 2);
  CHECK(counts_of(result.replicas[1].index).requests == 2);
}

TEST_CASE("fault: replicas fail in an open loop, and leave somebody") {
  const CacheGeometry geometry{.block_size_tokens = 4, .num_blocks = 100};
  FleetSpec spec{.replica = {.cache = geometry}, .replicas = 2, .outages = {{.replica = 0, .from = 1}}};
  const auto make = [&] { FleetReplay fleet(spec); };
  CHECK_THROWS_WITH(make(), "fleet.down: replicas fail at times, which only an open loop has");
  spec.replica.driver = {.kind = DriverKind::open_loop, .cost = {.per_prefill_token = 0.01}};
  spec.outages.push_back({.replica = 1, .from = 5, .until = 6});
  CHECK_THROWS_WITH(make(), "fleet.down: at 5 s no replica is left to send requests to");
  spec.outages = {{.replica = 2, .from = 1}};
  CHECK_THROWS_WITH(make(), "fleet.down: there is no replica 2, they are 0 to 1");
  // One may be down from the start.
  spec.outages = {{.replica = 0, .from = 0, .until = 1}};
  CHECK_NOTHROW(make());
  spec.outages = {{.replica = 0, .from = -1, .until = 1}};
  CHECK_THROWS_WITH(make(), "fleet.down: replica 0 cannot be down from -1 to 1 s");
  spec.outages = {{.replica = 0, .from = 1, .until = 1}};
  CHECK_THROWS_WITH(make(), "fleet.down: replica 0 cannot be down from 1 to 1 s");
}
