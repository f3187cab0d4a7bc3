// One allocation for all kinds of ids: compact slots and two-level pages, by numbers worked out by hand.
#include <doctest/doctest.h>

#include <algorithm>

#include "planner/demand.h"
#include "planner/plan.h"
#include "tests/planner/arrangement_laws.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

CachePlan shared_qwen(Strategy strategy) {
  EngineSpec engine{.tensor_parallel = 2, .strategy = strategy, .cache_mode = CacheMode::align};
  engine.memory_bytes = 40 * gib;
  return make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}});
}

}  // namespace

TEST_CASE("golden: Qwen3.5-397B in compact slots, by hand") {
  const CachePlan plan = shared_qwen(Strategy::compact_slots);
  // As in the dual pool, but one allocation with a lane of slots: 20,344,770,398 / (45 * 2,134,016) = 211 of them.
  const std::int64_t page = 16 * 1024, state = 2'134'016, slot = 45 * state, slots = 211;
  const std::int64_t pages = (40 * gib - slots * slot) / (15 * page);
  REQUIRE(plan.arenas.size() == 2);
  CHECK(plan.arenas[0] == ArenaPlan{"tokens", pages, 15 * page});
  CHECK(plan.arenas[1] == ArenaPlan{"slots", slots, slot});
  REQUIRE(plan.pools.size() == 1);
  CHECK(plan.pools[0].bytes == slots * slot + pages * 15 * page);
  // Slots at the front, then the 15 lanes of pages.
  REQUIRE(plan.lanes.size() == 15 + 1);
  CHECK(plan.lanes[15] == LanePlan{{1}, {0}, 0, slot, slot});
  CHECK(plan.lanes[14] == LanePlan{{0}, {0}, slots * slot + 14 * pages * page, page, page});
  // A slot is one piece: state 44 of slot 3 begins 3 slots and 44 states behind the front.
  CHECK(plan.groups[1].in_lane == PagesInLane{0, state});
  CHECK(plan.lanes[15].begin(3) + plan.offset_in_piece(plan.groups[1], 44) == 3 * slot + 44 * state);
  // 32,768 tokens: 2,048 pages and 2 slots; nothing is lost.
  CHECK(request_demand(plan, 32'768).ids == std::vector<std::int64_t>{2048, 2});
  CHECK(plan.capacity[0].bytes_per_request == 2048 * 15 * page + 2 * slot);
  CHECK(plan.max_running_requests == (slots - 1) / 2);
  CHECK(plan.waste.at_load.wasted_bytes() == 0);
  CHECK(plan.prefix.match_unit_tokens == 16);
}

TEST_CASE("golden: Qwen3.5-397B in two-level pages, by hand") {
  const CachePlan plan = shared_qwen(Strategy::two_level);
  // Small pages: 15 layers * 16 tokens * 1,024 bytes = 245,760 = 2^14 * 15 and 45 states of 2,134,016 = 2^12 * 521
  // bytes = 96,030,720. Their least common multiple is 2^14 * 45 * 521 = 384,122,880 bytes: 1,563 small pages of
  // attention (3 * 521), or 4 of states.
  const std::int64_t large = (1 << 14) * 45 * 521, small = 245'760, slot = 96'030'720;
  REQUIRE(plan.groups.size() == 2);  // the states first, as in the model
  CHECK(plan.groups[0].entries_per_id == 4);
  CHECK(plan.groups[1].entries_per_id == 1563);
  CHECK(plan.place_stride(plan.groups[0]) == slot);
  CHECK(plan.place_stride(plan.groups[1]) == small);
  CHECK(plan.lanes == std::vector{LanePlan{{0}, {0}, 0, large, large}});
  // 40 GiB / 384,122,880 = 111.8: 111 large pages, of which page 0 is null.
  CHECK(plan.arenas == std::vector{ArenaPlan{"large pages", 111, large}});
  CHECK(plan.num_places(plan.groups[1]) == 111 * 1563);
  // 32,768 tokens: ceil(2,048 / 1,563) = 2 large pages of attention and ceil(2 / 4) = 1 of states.
  CHECK(plan.capacity[0].blocks_per_request == 3);
  CHECK(plan.capacity[0].ids_by_cause == IdsByCause{.tokens = 2, .states = 1});
  CHECK(plan.capacity[0].usable_concurrency == doctest::Approx(110.0 / 3));
  // One token takes a page of each kind: 110 / 2 = 55 run, of states alone 110 would.
  CHECK(plan.max_running_requests == 55);
  CHECK(plan.max_running_requests_by_states == 110);
  // The longest leaves one large page to the states: 109 * 1,563 blocks of 16 tokens.
  CHECK(plan.max_fitting_tokens == 109 * 1563 * 16);
  // Unused: 2 * 1,563 - 2,048 small pages of attention, and 2 of 4 of states.
  CHECK(plan.waste.at_load.unused_entry_bytes == (2 * 1563 - 2048) * small + 2 * slot);
  CHECK(plan.waste.at_load.wasted_bytes() == plan.waste.at_load.unused_entry_bytes);
  CHECK(plan.waste.at_load.null_block_bytes == large);
  // Small page 5 of large page 7 is entry 7 * 1,563 + 5; layer 3 of attention begins 3 * 16 KiB behind its front.
  const auto view = std::find_if(plan.views.begin(), plan.views.end(),
                                 [](const ViewPlan& one) { return one.tensor == "kv" && one.layer == 15; });
  REQUIRE(view != plan.views.end());
  const std::int64_t index[] = {7 * 1563 + 5, 0, 0, 0, 0};
  CHECK(view->bytes.at(index) == 7 * large + 5 * small + 3 * 16 * 1024);
}

TEST_CASE("golden: draft states of two-level pages fill the small pages that a large one has left") {
  EngineSpec engine{.tensor_parallel = 2, .strategy = Strategy::two_level, .cache_mode = CacheMode::align};
  engine.page_alignment_bytes = 245'760;  // states of 9 * 245,760 bytes, of which a large page is 45: k = 1
  engine.speculative_tokens = 3;
  engine.memory_bytes = 40 * gib;
  const LimitsSpec limits{.max_model_lens = {32'768}};
  const CachePlan plan = make_plan(qwen35_397b(), engine, limits);
  CHECK(plan.arenas[0].bytes_per_id == 45 * 9 * 245'760);
  CHECK(plan.groups[0].entries_per_id == 1);
  CHECK(plan.groups[1].entries_per_id == 45 * 9);
  CHECK(plan.capacity[0].ids_by_cause == IdsByCause{.tokens = 6, .states = 2, .speculative = 3});
  // With rows of drafts a state has 2,170,880 = 2^13 * 265 bytes, so that k is 2: 5 states take three large pages, of
  // which one is there without drafts. k of attention is 2^14 * 11,925 / 245,760 = 795.
  engine.page_alignment_bytes = 1;
  CHECK(make_plan(qwen35_397b(), engine, limits).capacity[0].ids_by_cause ==
        IdsByCause{.tokens = 3, .states = 1, .speculative = 2});
}

TEST_CASE("edge: large pages beyond the memory are refused with a block or an alignment that helps") {
  EngineSpec engine{.tensor_parallel = 2, .strategy = Strategy::two_level, .cache_mode = CacheMode::align};
  engine.block_size_tokens = 112;  // lcm(7 * 245,760, 96,030,720) is 7 times that of 16 tokens
  engine.memory_bytes = 4 * gib;
  CHECK_THROWS_WITH_AS(
      make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}),
      "engine.block_size_tokens: strategy two_level: the least common multiple of small pages of 96030720 of spec 0 "
      "(gdn), 1720320 of spec 1 (full_attention) bytes is a large page of 2688860160 bytes (2.50 GiB); the null page "
      "and one for each take 8066580480 bytes (7.51 GiB), more than the memory of 4294967296 bytes (4.00 GiB); "
      "engine.block_size_tokens 16 makes large pages of 384122880 bytes (366.33 MiB), engine.page_alignment_bytes "
      "1720320 makes large pages of 154828800 bytes (147.66 MiB); or give more memory",
      SpecError);
  engine.block_size_tokens.reset();  // large pages of 366 MiB, of which there are some, but not as many as are needed
  CHECK_THROWS_WITH_AS(make_plan(qwen35_397b(), engine, {.max_model_lens = {4'000'000}}),
                       doctest::Contains(", so give more memory; engine.page_alignment_bytes "), SpecError);
  engine.block_size_tokens = 112;
  engine.attention_pack_size = 3;
  CHECK_THROWS_WITH_AS(make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}),
                       doctest::Contains("engine.attention_pack_size: is 3, but a small page"), SpecError);
}

TEST_CASE("golden: states of several kinds lie in one slot, behind each other") {
  ModelSpec model = testing::qwen35_397b();
  model.auxiliary.push_back(ShortConvSpec{.channels = 4096, .conv_kernel = 4});
  EngineSpec engine{.tensor_parallel = 2, .strategy = Strategy::compact_slots, .cache_mode = CacheMode::align};
  engine.memory_bytes = 40 * gib;
  const CachePlan plan = make_plan(model, engine, {.max_model_lens = {32'768}});
  REQUIRE(plan.groups.size() == 3);
  CHECK(!plan.groups[1].shares_table);
  CHECK(plan.groups[2].shares_table);
  CHECK(plan.groups[2].in_lane->first == 45 * 2'134'016);
  CHECK(plan.arenas[1].bytes_per_id == 45 * 2'134'016 + 3 * 2048 * 2);
  CHECK(request_demand(plan, 32'768).ids == std::vector<std::int64_t>{2048, 2});
  CHECK(broken_law(plan) == "");
}
