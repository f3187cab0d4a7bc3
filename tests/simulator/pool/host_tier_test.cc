// Memory of the host behind the pools: what goes comes back, and nothing else changes.
#include "simulator/pool/host_tier.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/error.h"
#include "engines/vllm/rules.h"
#include "simulator/blocks/invariants.h"
#include "simulator/blocks/match_unit_rules.h"
#include "simulator/schedule/simulation.h"
#include "tests/close_to.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

constexpr std::int64_t endless = std::int64_t{1} << 60;

/// A geometry without what the host does not take, and a tier of so many bytes: attention blocks of 2, states of 3.
CacheGeometry with_host(CacheGeometry geometry, std::int64_t bytes, HostWrite write) {
  geometry.match_unit_tokens.reset();
  geometry.drafter_drops_block = false;
  if (geometry.mode == CacheMode::none) geometry.mode = CacheMode::align;
  geometry.rules.lookahead_tokens = 0;
  geometry.max_num_batched_tokens = std::max(geometry.max_num_batched_tokens, geometry.checkpoint_step());
  geometry.scheduler.long_prefill_threshold = 0;
  geometry.host = HostSettings{.memory_bytes = bytes, .write = write};
  for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena)
    geometry.host->block_bytes.push_back(2 + arena);
  return geometry;
}

CacheGeometry rolled(Dice& dice, bool release_033) {
  CacheGeometry geometry = random_arenas(dice);
  if (!release_033) return geometry;
  geometry.rules.engine = &rules_of_vllm_0_33;
  geometry.rules.blocks = &match_unit_rules;
  if (geometry.mode == CacheMode::all) geometry.mode = CacheMode::align;
  geometry.retention_interval_tokens.reset();
  geometry.max_num_batched_tokens += geometry.speculative_tokens;
  return geometry;
}

/// Blocks of four tokens, one arena for both kinds.
CacheGeometry small(std::int64_t num_blocks) {
  return {.block_size_tokens = 4, .num_blocks = num_blocks, .state_groups = 1, .mode = CacheMode::align,
          .max_num_batched_tokens = 64};
}

}  // namespace

TEST_CASE("law: behind endless memory of the host the pools find what pools that never evict find") {
  std::int64_t loads = 0, equal = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    CacheGeometry plain = rolled(dice, seed % 2 == 1);
    // Where prompts part a state is kept for what attention alone had matched, which the host does not bring back.
    plain.scheduler.branch_point = false;
    const HostWrite write = seed % 4 < 2 ? HostWrite::eviction : HostWrite::write_through;
    const CacheGeometry geometry = with_host(plain, endless, write);
    if (geometry.has_partial_tails()) continue;
    CacheGeometry unlimited = geometry;
    unlimited.unlimited_pool = true;
    const TraceBatch batch = random_batch(dice, 20, 40, 0);
    const Run a = run(geometry, {}, batch), b = run(unlimited, {}, batch);
    REQUIRE(a.stats.host.has_value());
    CHECK(a.stats.host->evicted_bytes == 0);
    // Prompts that the pools cannot hold run in neither but in the one that grows.
    if (a.stats.refused + a.stats.stalled > 0) continue;
    CHECK(a.stats.hit_tokens == b.stats.hit_tokens);
    loads += a.stats.host->loads;
    ++equal;
  }
  CHECK(loads > 300);
  CHECK(equal > 500);
}

TEST_CASE("law: the cache is sound after every step with a host of any size and split") {
  std::int64_t loads = 0, evicted = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    Dice dice(seed + 500);
    CacheGeometry geometry = with_host(rolled(dice, seed % 2 == 1), dice.roll(1, 120),
                                       dice.chance(50) ? HostWrite::eviction : HostWrite::write_through);
    if (geometry.has_partial_tails()) continue;
    if (dice.chance(50)) geometry.host->state_share = 0.5;
    Simulation simulation(geometry, random_driver(dice));
    std::string violation;
    const auto check = [&] {
      const auto found = find_violations(simulation.scheduler());
      if (violation.empty() && !found.empty()) violation = found.front();
    };
    simulation.after_schedule = check;
    simulation.after_step = check;
    simulation.consume(random_batch(dice, 12, 40, 8));
    const SimulationStats stats = simulation.finish();
    REQUIRE(violation == "");
    CHECK(stats.host->held_bytes <= *geometry.host->memory_bytes);
    CHECK(stats.host->dead_bytes <= stats.host->held_bytes - stats.host->held_state_bytes);
    loads += stats.host->loads;
    evicted += stats.host->evicted_bytes;
  }
  CHECK(loads > 100);
  CHECK(evicted > 100);
}

TEST_CASE("golden: a prompt whose blocks went comes back from the host, state and all") {
  // Four blocks and two states a prompt; the second prompt takes everything.
  const TraceBatch batch = batch_of({{{1, 17}}, {{2, 17}}, {{1, 16}, {3, 1}}});
  const CacheGeometry plain = small(8);
  CHECK(run(plain, {}, batch).stats.hit_tokens == 0);
  for (const HostWrite write : {HostWrite::eviction, HostWrite::write_through}) {
    CAPTURE(to_string(write));
    const SimulationStats stats = run(with_host(plain, endless, write), {}, batch).stats;
    CHECK(stats.hit_tokens == 16);
    CHECK(stats.host->loaded_tokens == 16);
    CHECK(stats.host->loads == 1);
    CHECK(stats.host->loaded_bytes >= 2 * 2);
    CHECK(stats.host->load_seconds == close_to(static_cast<double>(stats.host->loaded_bytes) / 50e9));
  }
}

TEST_CASE("edge: a host without a limit keeps all that goes") {
  const TraceBatch batch = batch_of({{{1, 17}}, {{2, 17}}, {{1, 16}, {3, 1}}});
  CacheGeometry geometry = with_host(small(8), endless, HostWrite::eviction);
  geometry.host->memory_bytes.reset();
  const SimulationStats stats = run(geometry, {}, batch).stats;
  CHECK(stats.hit_tokens == 16);
  CHECK(stats.host->evicted_bytes == 0);
}

TEST_CASE("golden: without a share for states K and V are kept that nobody can go on from, and counted as dead") {
  const TraceBatch batch = batch_of({{{1, 17}}, {{2, 17}}, {{1, 16}, {3, 1}}});
  CacheGeometry geometry = with_host(small(8), 40, HostWrite::write_through);
  geometry.host->state_share = 0;
  const SimulationStats stats = run(geometry, {}, batch).stats;
  CHECK(stats.hit_tokens == 0);
  CHECK(stats.host->held_state_bytes == 0);
  CHECK(stats.host->held_bytes > 0);
  CHECK(stats.host->dead_bytes > 0);
  CHECK(stats.host->dead_bytes < stats.host->held_bytes);  // the last prompt's state is in the pool
  geometry.host->state_share = 0.5;
  const SimulationStats shared = run(geometry, {}, batch).stats;
  CHECK(shared.hit_tokens == 16);
  CHECK(shared.host->dead_bytes == 0);
}

TEST_CASE("rule: the block that was not used for longest goes from the host first, each kind within its share") {
  HostTier tier({.memory_bytes = 6, .block_bytes = {2, 3}});
  for (const PrefixKey key : {1, 2, 3}) tier.note_evicted(0, false, key);
  tier.note_evicted(0, false, 1);
  tier.note_evicted(0, false, 4);
  CHECK(tier.has(1));
  CHECK(!tier.has(2));
  tier.note_evicted(1, true, 9);  // 3 bytes: two blocks go
  CHECK(!tier.has(3));
  CHECK(!tier.has(1));
  CHECK(tier.stats().held_bytes == 5);
  CHECK(tier.stats().evicted_bytes == 6);
  tier.load(9);
  CHECK(!tier.has(9));
  HostTier split({.memory_bytes = 8, .state_share = 0.5, .block_bytes = {2, 3}});
  split.note_evicted(1, true, 9);
  for (const PrefixKey key : {1, 2, 3}) split.note_evicted(0, false, key);
  CHECK(split.has(9));
  CHECK(!split.has(1));
  split.note_evicted(1, true, 8);
  CHECK(!split.has(9));
  CHECK(split.stats().held_state_bytes == 3);
  HostTier tiny({.memory_bytes = 2, .block_bytes = {2, 3}});
  tiny.note_evicted(1, true, 9);
  CHECK(!tiny.has(9));
}

TEST_CASE("edge: what the host is not replayed with is refused by name") {
  const CacheGeometry good = with_host(small(8), 40, HostWrite::eviction);
  CHECK_NOTHROW(validate(good));
  const auto refused = [&](const char* what, auto&& change) {
    CacheGeometry changed = good;
    change(changed);
    CHECK_THROWS_WITH_AS(validate(changed), doctest::Contains(what), SpecError);
  };
  refused("host_memory: must be at least 1", [](CacheGeometry& g) { g.host->memory_bytes = 0; });
  refused("host_state_share", [](CacheGeometry& g) { g.host->state_share = 1.5; });
  refused("host_bandwidth", [](CacheGeometry& g) { g.host->bytes_per_second = 0; });
  refused("blocks with large pages", [](CacheGeometry& g) {
    g.blocks_per_large_page = {1}, g.host->block_bytes.clear();
  });
  refused("this cache has none", [](CacheGeometry& g) { g.host->block_bytes.clear(); });
  refused("a drafter", [](CacheGeometry& g) { g.drafter_drops_block = true; });
  refused("prefixes that end within a block", [](CacheGeometry& g) { g.match_unit_tokens = 2; });
  refused("other policies than lru", [](CacheGeometry& g) { g.scheduler.eviction = EvictionPolicy::worth; });
  refused("windows", [](CacheGeometry& g) { g.attention_masks = {{MaskKind::sliding_window, 8}}; });
}
