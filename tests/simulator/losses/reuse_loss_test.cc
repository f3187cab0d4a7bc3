// What is computed again, by cause: sums on replays and random workloads, and laws that single causes obey.
#include "simulator/losses/reuse_loss.h"

#include <doctest/doctest.h>

#include "tests/simulator/blocks/release_033_cases.h"
#include "tests/simulator/loss_run.h"
#include "tests/simulator/schedule/replay_trace.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// A random cache with the rules of vLLM 0.33.
CacheGeometry random_033(Dice& dice) {
  const std::int64_t block = dice.roll(1, 4) * 2;
  CacheGeometry g = geometry_033(block, dice.roll(6, 60), dice.roll(0, 2));
  g.max_num_batched_tokens = block + dice.roll(0, 20);
  g.scheduler.max_num_seqs = dice.roll(1, 6);
  if (dice.chance(40)) g.retention_interval_tokens.reset();
  if (dice.chance(20)) g.retention_interval_tokens = 2 * block;
  if (g.state_groups > 0 && dice.chance(30)) g.rules.checkpoint_blocks = 1;
  if (g.state_groups > 0 && dice.chance(30)) g.match_unit_tokens = 2;
  if (dice.chance(20)) g.speculative_tokens = 1, (dice.chance(50) ? g.rules.lookahead_tokens = 1 : 0);
  if (g.speculative_tokens > 0 && g.rules.lookahead_tokens == 0) g.drafter_drops_block = true;
  if (g.state_groups == 0 && dice.chance(60)) {
    g.attention_groups = 2;
    g.attention_masks = {{}, {MaskKind::sliding_window, 2 * block}};
  }
  return g;
}

void check_causes(const CacheGeometry& geometry, const DriverSpec& driver, const LossRun& result) {
  const ReuseLoss& total = result.stats.total;
  const bool june = geometry.rules.blocks == &plain_block_rules;
  if (driver.kind == DriverKind::one_at_a_time) CHECK(total.of(LossCause::too_late) == 0);
  if (result.simulation.refused + result.simulation.stalled == 0) CHECK(total.of(LossCause::no_memory) == 0);
  // With tails the one behind a drafter's is made and not kept.
  if (june && !geometry.retention_interval_tokens && !geometry.has_partial_tails())
    CHECK(total.of(LossCause::dropped) == 0);
  if (geometry.state_groups == 0) {
    CHECK(total.of(LossCause::no_state) == 0);
    CHECK(total.of(LossCause::state_evicted) == 0);
  }
  if (geometry.state_groups + geometry.attention_groups == 1) CHECK(total.of(LossCause::other_group) == 0);
  if (geometry.match_unit() == 1 && geometry.attention_step() == 1 &&
      (geometry.state_groups == 0 || geometry.resume_step() == 1) && !geometry.has_partial_tails())
    CHECK(total.of(LossCause::block_tail) == 0);
  if (geometry.unlimited_pool) {
    CHECK(total.of(LossCause::state_evicted) == 0);
    CHECK(total.of(LossCause::kv_evicted) == 0);
    CHECK(total.of(LossCause::other_group) == 0);
  }
}

void check_random(std::uint64_t seeds, CacheGeometry (*roll_geometry)(Dice&)) {
  std::array<std::int64_t, num_loss_causes> met{};
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    CacheGeometry geometry = roll_geometry(dice);
    // States alone, in mode none too, where no group has a block.
    if (geometry.state_groups > 0 && dice.chance(15)) {
      geometry.attention_groups = 0;
      geometry.attention_arenas.clear();
      geometry.attention_block_sizes.clear();
      if (geometry.common_block() % geometry.match_unit_tokens.value_or(1) != 0) geometry.match_unit_tokens.reset();
    }
    geometry.unlimited_pool = dice.chance(15);
    const DriverSpec driver = random_driver(dice);
    const TraceBatch batch = random_batch(dice, 40, 60, 12);
    const LossRun result = run_with_losses(geometry, driver, batch);
    check_sums(result, batch);
    check_causes(geometry, driver, result);
    const Run unwatched = run(geometry, driver, batch);
    REQUIRE(unwatched.stats == result.simulation);
    REQUIRE(unwatched.records == result.records);
    for (std::size_t cause = 0; cause < num_loss_causes; ++cause) met[cause] += result.stats.total.lost[cause] > 0;
  }
  for (std::size_t cause = 0; cause < num_loss_causes; ++cause) {
    CAPTURE(to_string(static_cast<LossCause>(cause)));
    CHECK(met[cause] > 0);
  }
}

}  // namespace

TEST_CASE("law: losses by cause add up on 500 random workloads of June 2026") { check_random(500, random_geometry); }

TEST_CASE("law: losses by cause add up on 300 random workloads over several arenas") {
  check_random(300, random_arenas);
}

TEST_CASE("law: losses by cause add up on 500 random workloads of 0.33") { check_random(500, random_033); }

namespace {

/// The trace goes through with losses booked; hits are those of the file of a real engine, request by request.
void check_losses(const CacheGeometry& geometry, const std::string& path, const DriverSpec& driver = {}) {
  const std::vector<ReplayRow> expected = rows_of_file(path);
  const auto trace = conversation_trace(std::ssize(expected));
  if (!trace) return;
  TraceBatch all;
  const LossRun result = run_with_losses(geometry, driver, *trace, &all);
  check_sums(result, all);
  check_causes(geometry, driver, result);
  REQUIRE(result.losses.size() == expected.size());
  for (const ReplayRow& row : expected)
    if (row.status == "ok") CHECK(result.losses.at(row.index).loss.found_tokens == row.hit_tokens);
}

std::string june(const std::string& file) {
  return HYBRIDKV_TEST_DATA "/simulator/replay/replay_conversation_2000_" + file;
}

}  // namespace

TEST_CASE("golden: losses add up on the replays of June 2026") {
  const auto replayed = [](std::int64_t block, std::int64_t blocks, std::int64_t groups, CacheMode mode) {
    return CacheGeometry{.block_size_tokens = block, .num_blocks = blocks, .state_groups = groups, .mode = mode};
  };
  check_losses(replayed(512, 2000, 0, CacheMode::none), june("full_bs512_pool2000.csv"));
  check_losses(replayed(528, 2000, 1, CacheMode::align), june("align_bs528_pool2000_g1.csv"));
  check_losses(replayed(2096, 20000, 1, CacheMode::align), june("align_bs2096_pool20000_g1.csv"));
  check_losses(replayed(1056, 4000, 3, CacheMode::all), june("all_bs1056_pool4000_g3.csv"));
  CacheGeometry plain = replayed(272, 20000, 1, CacheMode::align);
  plain.scheduler.branch_point = false;
  check_losses(plain, june("align-nomarconi_bs272_pool20000_g1.csv"));
}

TEST_CASE("golden: losses add up on the replays of 0.33") {
  CacheGeometry window = geometry_033(16, 20000, 0);
  window.attention_groups = 2;
  window.attention_masks = {{}, {MaskKind::sliding_window, 128}};
  CacheGeometry exporting = geometry_033(2112, 20000, 3);
  exporting.rules.checkpoint_blocks = 1;
  exporting.rules.checkpoint_alignment = exporting.match_unit_tokens.emplace(64);
  if (const auto path = case_033("replay_033_conversation_2000_swa128_bs16_pool20000_R0.csv"))
    check_losses(window, *path);
  if (const auto path = case_033("replay_033_conversation_2000_align_bs2112_pool20000_g3_h64_R0_ck.csv"))
    check_losses(exporting, *path);
}

TEST_CASE("golden: losses add up on the replays of 0.33 with its default retention") {
  if (const auto path = case_033("replay_033_conversation_2000_align_bs528_pool2000_g1_R0.csv"))
    check_losses(geometry_033(528, 2000, 1), *path);
}

TEST_CASE("golden: losses add up with 16 requests of the conversation trace in flight") {
  const auto trace = conversation_trace(400);
  if (!trace) return;
  const DriverSpec driver{.kind = DriverKind::closed_loop, .in_flight = 16};
  TraceBatch all;
  const LossRun result = run_with_losses(geometry_033(528, 2000, 1), driver, *trace, &all);
  check_sums(result, all);
  check_causes(geometry_033(528, 2000, 1), driver, result);
}
