// What a copy of a prompt finds among snapshots, in closed form. That the replay finds just that is a law of
// tests/simulator/snapshots.
#include "planner/snapshot_prefix.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <set>

#include "tests/planner/random_points.h"

namespace hybridkv::test {

namespace {

PoolGroups groups_of(const SnapshotPoints& points, bool partial_reuse) {
  PoolGroups groups;
  groups.points = points;
  groups.partial_reuse = partial_reuse;
  return groups;
}

std::int64_t copied(const SnapshotPoints& points, std::int64_t tokens, std::int64_t block = 32) {
  return copied_snapshot_tokens(groups_of(points, true), block, tokens);
}

std::int64_t copied_in_whole_blocks(const SnapshotPoints& points, std::int64_t tokens, std::int64_t block = 32) {
  return copied_snapshot_tokens(groups_of(points, false), block, tokens);
}

/// Of the snapshots of a prompt: do two lie in one block?
bool share_a_block(const SnapshotPoints& points, std::int64_t block, std::int64_t prompt_tokens) {
  std::set<std::int64_t> lie, blocks;
  for (std::int64_t token = 1; points.interval_tokens > 0 && token <= prompt_tokens; ++token)
    if (token % points.interval_tokens == 0) lie.insert(token);
  for (const std::int64_t offset : points.from_start)
    if (offset <= prompt_tokens) lie.insert(offset);
  for (const std::int64_t offset : points.from_end)
    if (prompt_tokens > offset) lie.insert(prompt_tokens - offset);
  for (const std::int64_t token : lie) blocks.insert((token - 1) / block);
  return blocks.size() < lie.size();
}

}  // namespace

TEST_CASE("golden: copies find what the engine's own small cases say") {
  // Cases copies_N of its own text, the second step.
  CHECK(copied({.from_end = {0}}, 1000) == 0);
  CHECK(copied({.from_end = {0, 32}}, 1000) == 968);
  CHECK(copied({.interval_tokens = 100}, 320) == 300);
  CHECK(copied_in_whole_blocks({.interval_tokens = 100}, 320) == 200);
  CHECK(copied_in_whole_blocks({.interval_tokens = 100}, 1000) == 900);
  CHECK(copied({.from_start = {100}}, 1000) == 100);
}

TEST_CASE("edge: of two snapshots in one block the later one alone is kept") {
  CHECK(copied({.from_end = {0, 5}}, 106) == 0);  // 101 and 106 lie in the fourth block
  CHECK(copied({.from_end = {0, 5}}, 98) == 93);
  CHECK(copied({.interval_tokens = 10}, 60) == 30);  // 50 gave way to 60, and 20 to 30
  CHECK(copied({.interval_tokens = 10}, 30) == 0);
}

TEST_CASE("edge: whole blocks alone are found, and the piece that a tree ends with where a prompt is a token longer") {
  CHECK(copied_in_whole_blocks({.from_start = {100}}, 101, 16) == 100);
  CHECK(copied_in_whole_blocks({.from_start = {100}}, 102, 16) == 0);
  CHECK(copied_in_whole_blocks({.from_start = {100}}, 5000, 16) == 0);
  CHECK(copied_in_whole_blocks({.from_start = {96}}, 5000, 16) == 96);
}

TEST_CASE("law: copies hit nothing up to the length that a plan says, nor elsewhere than in multiples of its unit") {
  CHECK(rc::check("plans", [] {
    SnapshotPoints points = random_points(80, 80, 80);
    if (!points.any()) points.interval_tokens = 80;
    Arrangement arrangement;
    arrangement.pool_groups = groups_of(points, drawn(0, 1) == 1);
    const PoolGroups& groups = *arrangement.pool_groups;
    const std::int64_t block = std::int64_t(1) << drawn(1, 6);
    const PrefixPlan prefix = prefix_of_snapshots(arrangement, {});
    const bool share_blocks = snapshots_share_blocks(points, block);
    const bool is_apart = groups.partial_reuse && !share_blocks;
    const std::int64_t misses = prefix.duplicate_misses_up_to_tokens;
    bool did_share = share_a_block(points, block, 5000);  // 63 and 64 first do so at 4,032
    for (std::int64_t tokens = 1; tokens <= 300; ++tokens) {
      const std::int64_t hit = copied_snapshot_tokens(groups, block, tokens);
      RC_ASSERT(hit % prefix.match_unit_tokens == 0);
      if (tokens <= misses) RC_ASSERT(hit == 0);
      if (hit > 0) RC_ASSERT(hit >= *prefix.min_cacheable_prefix_tokens);
      if (is_apart && tokens == misses + 1) RC_ASSERT(hit > 0);
      did_share = did_share || share_a_block(points, block, tokens);
    }
    RC_ASSERT(did_share == share_blocks);
  }));
}

}  // namespace hybridkv::test
