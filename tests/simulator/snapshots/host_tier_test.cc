// Pools on the host behind those of the device, and the limit above which no request starts.
#include <doctest/doctest.h>

#include <random>

#include "base/error.h"
#include "tests/simulator/snapshots/engine_cases.h"

namespace hybridkv::test {

namespace {

const SnapshotRecord& run_prompt(SnapshotReplay& replay, const Segments& segments, std::int64_t length) {
  const std::vector<TokenRun> prompt = runs_of(segments, length);
  return replay.run({.index = 0, .input_length = length, .output_length = 1}, prompt);
}

SnapshotSettings tiered(std::int64_t states, std::int64_t blocks, std::int64_t host_states, std::int64_t host_blocks) {
  SnapshotSettings settings{.blocks = blocks, .states = states, .host_blocks = host_blocks, .host_states = host_states};
  settings.points.from_end = {0};
  return settings;
}

}  // namespace

TEST_CASE("golden: what is evicted moves to the host, and a hit brings it back, counted by hand") {
  SnapshotReplay replay(tiered(2, 4, 4, 4));
  run_prompt(replay, {{1, 40}}, 40);
  CHECK(replay.pages().num_free() == 2);  // a whole block, and a copy of the piece
  const SnapshotRecord other = run_prompt(replay, {{1000, 40}}, 40);
  CHECK(other.evicted_blocks == 1);  // the copy
  CHECK(other.evicted_states == 1);
  CHECK(other.free_host_blocks == 3);
  CHECK(other.free_host_states == 3);
  // The piece and the state come back while those of the other prompt go; then a block goes for the new piece, and the
  // state that the new one replaces.
  const SnapshotRecord back = run_prompt(replay, {{1, 40}, {5000, 20}}, 60);
  CHECK(back.hit_tokens == 40);
  CHECK(back.evicted_blocks == 2);
  CHECK(back.evicted_states == 2);
  CHECK(back.free_blocks == 2);
  CHECK(back.free_states == 1);
  CHECK(back.free_host_blocks == 2);
  CHECK(back.free_host_states == 3);
  CHECK(back.tree_blocks == 4);
  CHECK(back.tree_states == 2);
}

TEST_CASE("law: no page of either level is lost or counted twice, and the host only finds more") {
  for (const bool alone : {true, false}) {
    SnapshotSettings settings = tiered(6, 40, 9, 60), without = settings;
    settings.evicts_alone = without.evicts_alone = alone;
    settings.points.at_branches = without.points.at_branches = true;
    without.host_blocks = without.host_states = 0;
    SnapshotReplay with_host(settings), device(without);
    std::mt19937 random(7);
    std::int64_t hits = 0, device_hits = 0;
    for (int i = 0; i < 600; ++i) {
      const std::uint64_t chat = random() % 8;
      const std::int64_t length = 20 + static_cast<std::int64_t>(random() % 400);
      const Segments segments{{chat * 10'000 + 1, length - 10}, {1'000'000 + 100 * static_cast<std::uint64_t>(i), 10}};
      const SnapshotRecord record = run_prompt(with_host, segments, length);
      hits += record.hit_tokens;
      device_hits += run_prompt(device, segments, length).hit_tokens;
      REQUIRE(record.status == RequestStatus::ok);
      for (const PagePool* pool : {&with_host.pages(), &with_host.states()}) {
        const bool states = pool == &with_host.states();
        CHECK(pool->num_free() + pool->num_idle() == (states ? settings.states : settings.blocks));
        CHECK(pool->num_free(PageLevel::host) + pool->num_idle(PageLevel::host) ==
              (states ? settings.host_states : settings.host_blocks));
      }
    }
    CHECK(device_hits > 0);
    CHECK(hits > device_hits);
  }
}

TEST_CASE("edge: no request starts that holds more than 95 of 100 blocks, unless they may move to the host") {
  for (const std::int64_t host : {0, 100}) {
    SnapshotReplay replay(tiered(4, 100, host > 0 ? 4 : 0, host));
    CHECK(run_prompt(replay, {{1, 95 * 32}}, 95 * 32).status == RequestStatus::ok);
    CHECK(run_prompt(replay, {{1, 96 * 32}}, 96 * 32).hit_tokens == 95 * 32);
    const SnapshotRecord more = run_prompt(replay, {{1, 97 * 32}}, 97 * 32);
    CHECK(more.status == (host > 0 ? RequestStatus::ok : RequestStatus::refused));
    // What was refused left all as it was.
    CHECK(replay.pages().num_free() + replay.pages().num_idle() == 100);
    CHECK(replay.states().num_free() + replay.states().num_idle() == 4);
  }
}

TEST_CASE("edge: a host has pools of both kinds or none") {
  CHECK_THROWS_WITH_AS(SnapshotReplay(tiered(2, 4, 0, 4)), "snapshots.host_states: must be at least 1, is 0",
                       SpecError);
  CHECK_THROWS_WITH_AS(SnapshotReplay(tiered(2, 4, 4, 0)), "snapshots.host_blocks: must be at least 1, is 0",
                       SpecError);
}

}  // namespace hybridkv::test
