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
  // Small pages: 45 convolutions of 36,864 bytes = 1,658,880 = 2^12 * 3^4 * 5, 45 recurrent tensors of 2 MiB =
  // 94,371,840 = 2^21 * 3^2 * 5, and 15 layers * 16 tokens * 1,024 bytes = 245,760 = 2^14 * 3 * 5. Their least common
  // multiple is 2^21 * 3^4 * 5 = 849,346,560 bytes: 512, 9 or 3,456 of them.
  const std::int64_t large = (1 << 21) * 405, small = 245'760, conv = 1'658'880, ssm = 94'371'840;
  REQUIRE(plan.groups.size() == 3);  // the states first, as in the model
  CHECK((plan.groups[0].tensor == 0 && plan.groups[1].tensor == 1 && !plan.groups[2].tensor));
  CHECK(!plan.groups[1].shares_table);
  CHECK(plan.groups[0].entries_per_id == 512);
  CHECK(plan.groups[1].entries_per_id == 9);
  CHECK(plan.groups[2].entries_per_id == 3456);
  CHECK(plan.place_stride(plan.groups[0]) == conv);
  CHECK(plan.place_stride(plan.groups[1]) == ssm);
  CHECK(plan.place_stride(plan.groups[2]) == small);
  CHECK(plan.lanes == std::vector{LanePlan{{0}, {0}, 0, large, large}});
  // 40 GiB / 849,346,560 = 50.6: 50 large pages, of which page 0 is null.
  CHECK(plan.arenas == std::vector{ArenaPlan{"large pages", 50, large}});
  CHECK(plan.num_places(plan.groups[2]) == 50 * 3456);
  // 32,768 tokens: 2,048 blocks of attention, 2 convolutions and 2 recurrent tensors, a large page each.
  CHECK(plan.capacity[0].blocks_per_request == 3);
  CHECK(plan.capacity[0].ids_by_cause == IdsByCause{.tokens = 1, .states = 2});
  CHECK(plan.capacity[0].usable_concurrency == doctest::Approx(49.0 / 3));
  // One token takes a page of each kind: 49 / 3 = 16 run, of states alone 49 / 2 = 24 would.
  CHECK(plan.max_running_requests == 16);
  CHECK(plan.max_running_requests_by_states == 24);
  // The longest leaves two large pages to the states: 47 * 3,456 blocks of 16 tokens.
  CHECK(plan.max_fitting_tokens == 47 * 3456 * 16);
  CHECK(plan.waste.at_load.unused_entry_bytes == (3456 - 2048) * small + 7 * ssm + 510 * conv);
  CHECK(plan.waste.at_load.wasted_bytes() == plan.waste.at_load.unused_entry_bytes);
  CHECK(plan.waste.at_load.null_block_bytes == large);
  // Small page 5 of large page 7 is entry 7 * 3,456 + 5; layer 3 of attention begins 3 * 16 KiB behind its front.
  const auto view = std::find_if(plan.views.begin(), plan.views.end(),
                                 [](const ViewPlan& one) { return one.tensor == "kv" && one.layer == 15; });
  REQUIRE(view != plan.views.end());
  const std::int64_t index[] = {7 * 3456 + 5, 0, 0, 0, 0};
  CHECK(view->bytes.at(index) == 7 * large + 5 * small + 3 * 16 * 1024);
}

TEST_CASE("golden: draft states of two-level pages fill the small pages that a large one has left") {
  EngineSpec engine{.tensor_parallel = 2, .strategy = Strategy::two_level, .cache_mode = CacheMode::align};
  // A convolution is padded to 245,760 bytes, a recurrent tensor to 9 of them; 45 layers have 45 * 9 in a large page.
  engine.page_alignment_bytes = 245'760;
  engine.speculative_tokens = 3;
  engine.memory_bytes = 40 * gib;
  const LimitsSpec limits{.max_model_lens = {32'768}};
  const CachePlan plan = make_plan(qwen35_397b(), engine, limits);
  CHECK(plan.arenas[0].bytes_per_id == 45 * 9 * 245'760);
  CHECK(plan.groups[0].entries_per_id == 9);
  CHECK(plan.groups[1].entries_per_id == 1);
  CHECK(plan.groups[2].entries_per_id == 45 * 9);
  CHECK(plan.capacity[0].ids_by_cause == IdsByCause{.tokens = 6, .states = 3, .speculative = 3});
  // Unpadded, 9 recurrent tensors and 256 convolutions with their rows of drafts share a large page: 5 of each fit.
  engine.page_alignment_bytes = 1;
  CHECK(make_plan(qwen35_397b(), engine, limits).capacity[0].ids_by_cause ==
        IdsByCause{.tokens = 1, .states = 2});
}

TEST_CASE("edge: large pages beyond the memory are refused with a block or an alignment that helps") {
  EngineSpec engine{.tensor_parallel = 2, .strategy = Strategy::two_level, .cache_mode = CacheMode::align};
  engine.block_size_tokens = 112;  // 7 * 245,760 makes a least common multiple of 7 times that of 16 tokens
  engine.memory_bytes = 4 * gib;
  CHECK_THROWS_WITH_AS(
      make_plan(qwen35_397b(), engine, {.max_model_lens = {32'768}}),
      "engine.block_size_tokens: strategy two_level: the least common multiple of small pages of 1658880 of conv, spec "
      "0 (gdn), 94371840 of ssm, spec 0 (gdn), 1720320 of spec 1 (full_attention) bytes is a large page of 5945425920 "
      "bytes (5.54 GiB); the null page and one for each take 23781703680 bytes (22.15 GiB), more than the memory of "
      "4294967296 bytes (4.00 GiB); engine.block_size_tokens 16 makes large pages of 849346560 bytes (810.00 MiB), "
      "engine.page_alignment_bytes 1720320 makes large pages of 154828800 bytes (147.66 MiB); or give more memory",
      SpecError);
  engine.block_size_tokens.reset();  // large pages of 810 MiB, of which there are some, but not as many as are needed
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
