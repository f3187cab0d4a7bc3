// Where vLLM 0.33 keeps states and cuts chunks, worked out by hand from its rules.
#include "simulator/blocks/prefix_positions.h"

#include <doctest/doctest.h>

#include <vector>

#include "simulator/blocks/closed_form.h"
#include "tests/simulator/blocks/release_033_cases.h"
#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

using Tokens = std::vector<std::int64_t>;

CacheGeometry with_unit(CacheGeometry geometry, std::int64_t unit) {
  geometry.match_unit_tokens = unit;
  return geometry;
}

CacheGeometry dropping(CacheGeometry geometry) {
  geometry.drafter_drops_block = true;
  geometry.speculative_tokens = 1;
  return geometry;
}

CacheGeometry exporting(CacheGeometry geometry, std::int64_t alignment = 1) {
  geometry.rules.checkpoint_blocks = 1;
  geometry.rules.checkpoint_alignment = alignment;
  return geometry;
}

/// Chunk ends of a prompt that is alone, behind a hit.
Tokens ends(const CacheGeometry& geometry, std::int64_t prompt, std::int64_t hit = 0, std::int64_t junction = 0,
            std::int64_t budget = 8192) {
  const PrefixPositions positions(geometry);
  Tokens result;
  for (std::int64_t start = hit; start < prompt; start = result.back()) {
    const ComputedChunk chunk{start, std::min(prompt, start + budget), prompt, prompt, junction};
    result.push_back(cut_chunk(positions, chunk, budget));
    REQUIRE(result.back() > start);
  }
  return result;
}

}  // namespace

TEST_CASE("edge: the last state of a prompt leaves a token to compute, or what keys look ahead") {
  CacheGeometry geometry = geometry_033(528, 100, 1);
  CHECK(PrefixPositions(geometry).last(1056, 528) == 528);
  CHECK(PrefixPositions(geometry).last(1057, 528) == 1056);
  CHECK(PrefixPositions(geometry).last(1, 528) == 0);
  CHECK(PrefixPositions(geometry).last(0, 528) == 0);
  geometry.speculative_tokens = 3;
  geometry.rules.lookahead_tokens = 3;
  CHECK(PrefixPositions(geometry).last(1058, 528) == 528);
  CHECK(PrefixPositions(geometry).last(1059, 528) == 1056);
  CHECK(PrefixPositions(geometry).last(2, 528) == 0);
  CHECK(PrefixPositions(dropping(geometry_033(528, 100, 1))).last(1056, 528) == 528);
  CHECK(PrefixPositions(dropping(geometry_033(528, 100, 1))).last(1055, 528) == 0);
  CHECK(PrefixPositions(dropping(geometry_033(528, 100, 1))).last(500, 528) == 0);
}

TEST_CASE("edge: hits are fine where the unit is below the states' block, and every window has it as its block") {
  CHECK(!PrefixPositions(geometry_033(528, 100, 1)).fine());
  CHECK(PrefixPositions(with_unit(geometry_033(528, 100, 1), 16)).fine());
  CHECK(!PrefixPositions(with_unit(geometry_033(528, 100, 1), 528)).fine());
  CHECK(!PrefixPositions(with_unit(geometry_033(528, 100, 0), 16)).fine());
  CacheGeometry window = with_unit(geometry_033(528, 100, 1), 16);
  window.attention_groups = 2;
  window.attention_masks = {{}, {MaskKind::sliding_window, 128}};
  CHECK(!PrefixPositions(window).fine());
  window.attention_block_sizes = {528, 16};
  CHECK(PrefixPositions(window).fine());
  // Without a unit of the user's it is what divides all blocks, so states apart from attention are found within blocks.
  CacheGeometry apart = geometry_033(16, 100, 1);
  apart.state_block_size_tokens = 528;
  CHECK(PrefixPositions(apart).fine());
  CHECK(PrefixPositions(apart).unit() == 16);
}

TEST_CASE("edge: tails of attention and states") {
  const PrefixPositions fine(with_unit(geometry_033(528, 100, 1), 16));
  CHECK(fine.state_tail(2200) == 2192);
  CHECK(fine.attention_tail(2200) == 2192);
  CHECK(fine.attention_tail(2192) == 2176);
  const PrefixPositions drop(dropping(with_unit(geometry_033(528, 100, 1), 16)));
  CHECK(drop.state_tail(2200) == 2176);
  CHECK(drop.attention_tail(2192) == 2192);
  CHECK(PrefixPositions(geometry_033(528, 100, 1)).attention_tail(2200) == 0);
}

TEST_CASE("edge: which boundaries a retention interval keeps") {
  const auto kept = [](CacheGeometry geometry, std::int64_t prompt, std::int64_t junction) {
    Tokens boundaries;
    for (std::int64_t at = geometry.block_size_tokens; at <= prompt; at += geometry.block_size_tokens)
      if (PrefixPositions(geometry).keeps_boundary(at, prompt, junction)) boundaries.push_back(at);
    return boundaries;
  };
  CacheGeometry geometry = geometry_033(4, 100, 1);
  CHECK(kept(geometry, 22, 0) == Tokens{20});
  CHECK(kept(geometry, 20, 0) == Tokens{16});
  CHECK(kept(geometry, 22, 10) == Tokens{8, 20});
  CHECK(kept(dropping(geometry), 22, 0) == Tokens{16});
  CHECK(kept(dropping(geometry), 20, 10) == Tokens{8, 12, 16});
  CacheGeometry drafting = dropping(geometry);
  drafting.rules.state_drafters = true;
  CHECK(kept(drafting, 22, 10) == Tokens{4, 8, 16});
  geometry.retention_interval_tokens = 12;
  CHECK(kept(geometry, 22, 0) == Tokens{12, 20});
  geometry.retention_interval_tokens.reset();
  CHECK(kept(geometry, 22, 0) == Tokens{4, 8, 12, 16, 20});
}

TEST_CASE("edge: which blocks of a window are kept") {
  const auto kept = [](const CacheGeometry& geometry, std::int64_t v, std::int64_t prompt, std::int64_t junction) {
    Tokens blocks;
    for (std::int64_t i = 0; i < 12; ++i)
      if (PrefixPositions(geometry).keeps_window_block(i, 4, v, true, prompt, junction)) blocks.push_back(i);
    return blocks;
  };
  CacheGeometry geometry = geometry_033(4, 100, 0);
  geometry.attention_groups = 2;
  geometry.attention_block_sizes = {8, 4};
  geometry.attention_masks = {{}, {MaskKind::sliding_window, 9}};
  // S = 8: the last boundary of 43 tokens is 40, in front of it lie blocks 8 and 9; before the junction 16 blocks 2, 3.
  CHECK(kept(geometry, 2, 43, 0) == Tokens{8, 9});
  CHECK(kept(geometry, 2, 40, 0) == Tokens{6, 7});
  CHECK(kept(geometry, 2, 43, 17) == Tokens{2, 3, 8, 9});
  CHECK(kept(dropping(geometry), 2, 43, 0) == Tokens{6, 7, 8});
  geometry.retention_interval_tokens = 16;
  CHECK(kept(geometry, 1, 43, 0) == Tokens{3, 7, 9, 11});
  CHECK(kept(geometry, 4, 43, 0) == Tokens{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  geometry.retention_interval_tokens.reset();
  CHECK(kept(geometry, 1, 43, 0) == Tokens{1, 3, 5, 7, 9, 11});
}

TEST_CASE("golden: block 528, budget 2048, 2200 tokens: ends at 1584, 2112, 2200") {
  CHECK(ends(geometry_033(528, 100, 1), 2200, 0, 0, 2048) == Tokens{1584, 2112, 2200});
}

TEST_CASE("edge: a chunk is cut at the last boundary, at the tail and at whole blocks before a junction") {
  const CacheGeometry coarse = geometry_033(4, 100, 1);
  CHECK(ends(coarse, 22) == Tokens{20, 22});
  CHECK(ends(coarse, 20) == Tokens{16, 20});
  CHECK(ends(coarse, 22, 0, 11) == Tokens{8, 20, 22});
  CHECK(ends(coarse, 22, 8, 11) == Tokens{20, 22});
  const CacheGeometry fine = with_unit(coarse, 2);
  CHECK(ends(fine, 23) == Tokens{20, 22, 23});
  CHECK(ends(fine, 21) == Tokens{20, 21});
  CHECK(ends(fine, 23, 6) == Tokens{8, 20, 22, 23});
  CHECK(ends(fine, 23, 6, 13) == Tokens{8, 12, 20, 22, 23});
  CacheGeometry exact = dropping(fine);
  exact.rules.exact_junctions = true;
  CHECK(ends(exact, 23, 0, 10) == Tokens{10, 12, 16, 20, 23});
  CHECK(ends(dropping(fine), 23, 0, 10) == Tokens{8, 16, 20, 23});
}

TEST_CASE("edge: nothing of a resumed request is cut where all but the last token is computed") {
  const PrefixPositions positions(geometry_033(4, 100, 1));
  CHECK(cut_chunk(positions, {16, 22, 10, 22, 0}, 64) == 20);
  CHECK(cut_chunk(positions, {21, 22, 10, 22, 0}, 64) == 22);
  CHECK(cut_chunk(positions, {20, 24, 10, 21, 0}, 64) == 24);
}

TEST_CASE("edge: a budget below a block goes on inside it, a smaller rest of a budget waits") {
  const CacheGeometry geometry = geometry_033(10, 100, 1);
  CHECK(ends(geometry, 23, 0, 0, 4) == Tokens{4, 8, 10, 14, 18, 20, 23});
  const PrefixPositions positions(geometry);
  CHECK(cut_chunk(positions, {10, 14, 23, 23, 0}, 12) == 10);
  CHECK(cut_chunk(positions, {10, 14, 23, 23, 0}, 9) == 14);
}

TEST_CASE("edge: an exported state saves the cuts, where its column and alignment allow it") {
  CHECK(ends(exporting(geometry_033(4, 100, 1)), 22) == Tokens{22});
  CHECK(ends(exporting(geometry_033(4, 100, 1)), 5) == Tokens{5});
  // One new column only: 4 tokens have no column before the running one.
  CHECK(ends(exporting(geometry_033(4, 100, 1)), 4) == Tokens{4});
  CHECK(ends(exporting(geometry_033(4, 100, 1)), 22, 16) == Tokens{22});
  CHECK(ends(exporting(geometry_033(4, 100, 1)), 22, 20) == Tokens{22});
  CHECK(ends(exporting(geometry_033(4, 100, 1), 8), 22) == Tokens{20, 22});
  CHECK(ends(exporting(geometry_033(4, 100, 1), 8), 22, 4) == Tokens{22});
  CHECK(ends(exporting(geometry_033(4, 100, 1)), 22, 0, 0, 12) == Tokens{12, 22});
  CHECK(ends(exporting(geometry_033(4, 100, 1)), 22, 0, 9) == Tokens{8, 22});
  const CacheGeometry fine = exporting(with_unit(geometry_033(4, 100, 1), 2));
  CHECK(ends(fine, 23, 6) == Tokens{23});
  CHECK(ends(fine, 11, 6) == Tokens{8, 10, 11});
}

TEST_CASE("edge: what a chunk exports, and whether it is kept") {
  CacheGeometry geometry = exporting(geometry_033(4, 100, 1));
  const ComputedChunk whole{0, 22, 22, 22, 0}, part{0, 16, 22, 22, 0};
  CHECK(PrefixPositions(geometry).exported_at(whole) == 20);
  CHECK(PrefixPositions(geometry).exported_at(part) == 0);
  CHECK(PrefixPositions(geometry).keeps_exported(20, whole));
  geometry.retention_interval_tokens = 8;
  CHECK(PrefixPositions(geometry).exported_at(part) == 12);
  CHECK(!PrefixPositions(geometry).keeps_exported(12, part));
  CHECK(PrefixPositions(geometry).keeps_exported(12, {0, 16, 22, 22, 12}));
  CHECK(PrefixPositions(geometry).keeps_exported(8, part));
  geometry.retention_interval_tokens.reset();
  CHECK(PrefixPositions(geometry).keeps_exported(12, part));
  const PrefixPositions drop(dropping(geometry));
  CHECK(drop.exported_at(whole) == 16);
  const PrefixPositions fine(with_unit(geometry, 2));
  CHECK(fine.exported_at(part) == 14);
  CHECK(!fine.keeps_exported(14, part));
  CHECK(fine.exported_at({0, 23, 23, 23, 0}) == 22);
  // A chunk must begin at a unit.
  CHECK(fine.exported_at({3, 23, 23, 23, 0}) == 0);
}

TEST_CASE("law: simulated copies in 0.33 hit what the closed form says, and leave the states it lists") {
  for (int setting = 0; setting < 16; ++setting)
    for (std::int64_t state_groups = 0; state_groups < 3; ++state_groups)
      for (const std::int64_t budget : {3, 9, 64})
        for (std::int64_t prompt = 1; prompt <= 30; ++prompt) {
          CacheGeometry geometry = geometry_033(4, 200, state_groups);
          geometry.max_num_batched_tokens = budget;
          if (setting & 1) geometry.retention_interval_tokens.reset();
          if (setting & 2) geometry = exporting(geometry);
          if (setting & 4) geometry = dropping(geometry);
          if (setting & 8) geometry.attention_groups = 2;
          if (setting == 2) geometry.speculative_tokens = geometry.rules.lookahead_tokens = 1;
          const Run result = run(geometry, {}, copies_of({{1, prompt}}, 3));
          CAPTURE(setting);
          CAPTURE(budget);
          CAPTURE(prompt);
          for (std::int64_t copy = 2; copy <= 3; ++copy)
            REQUIRE(result.records[copy - 1].hit_tokens == *predicted_copy_hit(geometry, prompt, copy));
          const Run once = run(geometry, {}, copies_of({{1, prompt}}, 1));
          REQUIRE(once.stats.pool.checkpoints_made == std::ssize(checkpoint_positions(geometry, prompt)));
        }
}

TEST_CASE("edge: a state may be exported behind the first token") {
  const CacheGeometry geometry = exporting(geometry_033(1, 100, 1));
  CHECK(checkpoint_positions(geometry, 2) == Tokens{1});
  CHECK(run(geometry, {}, copies_of({{1, 2}}, 1)).stats.pool.checkpoints_made == 1);
}

TEST_CASE("edge: the closed form of 0.33 knows no hits within a block") {
  CHECK(!predicted_copy_hit(with_unit(geometry_033(4, 100, 1), 2), 13, 2));
  CHECK(checkpoint_positions(with_unit(geometry_033(4, 100, 1), 2), 23) == Tokens{20, 22});
  CacheGeometry none = geometry_033(4, 100, 1);
  none.mode = CacheMode::none;
  CHECK(predicted_copy_hit(none, 13, 2) == 0);
}

TEST_CASE("edge: ids of a request in 0.33 count its checkpoint block, and of a window what is in flight") {
  CacheGeometry geometry = exporting(geometry_033(4, 100, 2));
  geometry.speculative_tokens = 1;
  CHECK(request_block_ids(geometry, 9) == 3 + 2 * 4);
  geometry.attention_groups = 2;
  geometry.attention_masks = {{}, {MaskKind::sliding_window, 5}};
  geometry.max_num_batched_tokens = 8;
  CHECK(request_block_ids(geometry, 9) == 3 + 4 + 2 * 4);
  CHECK(request_block_ids(geometry, 400) == 100 + 4 + 2 * 4);
  geometry.in_flight_tokens = 16;
  CHECK(request_block_ids(geometry, 400) == 100 + 6 + 2 * 4);
}

TEST_CASE("edge: what a cache with the rules of 0.33 refuses, with a way out") {
  const auto refuses = [](void (*change)(CacheGeometry&), const char* message) {
    CacheGeometry geometry = geometry_033(4, 100, 1);
    change(geometry);
    CHECK_THROWS_WITH_AS(validate(geometry), message, SpecError);
  };
  refuses([](CacheGeometry& g) { g.mode = CacheMode::all; },
          "geometry.mode: vllm-0.33 has no cache mode all; take align, or none");
  refuses([](CacheGeometry& g) { g.retention_interval_tokens = 6; },
          "geometry.retention_interval_tokens: vllm-0.33 keeps states at multiples of 4 tokens, where all groups' "
          "blocks end, and 6 is none; take 8, or 0");
  refuses([](CacheGeometry& g) { g.rules.lookahead_tokens = 1; },
          "geometry.lookahead_tokens: keys look ahead for a drafter, and there is none without speculative_tokens; "
          "take 0");
  refuses([](CacheGeometry& g) { g.speculative_tokens = g.rules.lookahead_tokens = 1, g.drafter_drops_block = true; },
          "geometry.lookahead_tokens: keys that look ahead are there so that no block is dropped for the drafter; take "
          "0, or do not let the drafter drop one");
  refuses([](CacheGeometry& g) { g.rules.checkpoint_blocks = 2; }, "geometry.checkpoint_blocks: must be 0 to 1, is 2");
  refuses([](CacheGeometry& g) { g.rules.attention_drafters = {true, false}; },
          "geometry.attention_drafters: 2 values for 1 attention groups; give one for each, or none");
  refuses([](CacheGeometry& g) { g.attention_masks = {{MaskKind::chunked_local, 8}}; },
          "geometry.attention_masks: prefixes of chunked attention are not simulated with the rules of vllm-0.33; take "
          "those of vllm-2026-06");
  // A budget below the block is no reason: it goes on inside.
  CacheGeometry narrow = geometry_033(4, 100, 1);
  narrow.max_num_batched_tokens = 3;
  CHECK_NOTHROW(validate(narrow));
}
