// Groups with a window or chunk: what goes back, when, and what is left for others.
#include <doctest/doctest.h>

#include "simulator/blocks/cache_manager.h"
#include "simulator/blocks/invariants.h"

namespace hybridkv {
namespace {

constexpr std::int64_t block = 4;

CacheGeometry geometry_with(std::vector<KeyMask> masks, std::int64_t state_groups = 0) {
  CacheGeometry geometry;
  geometry.block_size_tokens = block;
  geometry.num_blocks = 200;
  geometry.attention_groups = std::ssize(masks);
  geometry.state_groups = state_groups;
  geometry.attention_masks = std::move(masks);
  return geometry;
}

/// Blocks, null ones left out, that a group holds when its request computes token `computed` next.
std::int64_t held_at(const KeyMask& mask, std::int64_t computed) {
  CacheManager cache(geometry_with({mask}));
  RequestBlocks blocks = cache.make_request();
  const CachedPrompt prompt{{}, 1};
  cache.begin_step();
  REQUIRE(cache.admit(blocks, prompt, {}, 1, 0));
  for (std::int64_t token = 1; token <= computed; ++token) REQUIRE(cache.advance(blocks, prompt, token, 1, 0));
  const auto& table = blocks.attention.front();
  CHECK(std::ssize(table) == computed / block + 1);
  const std::int64_t held = std::count_if(table.begin(), table.end(), [](BlockId id) { return id != null_block_id; });
  CHECK(cache.pool().num_held() == held);
  cache.release(blocks);
  CHECK(cache.pool().num_held() == 0);
  return held;
}

TEST_CASE("golden: a block goes back when its last token has left the window, not before") {
  const KeyMask window{MaskKind::sliding_window, 6};
  CHECK(held_at(window, 8) == 3);   // token 8 sees 3 to 8
  CHECK(held_at(window, 9) == 2);   // token 9 sees 4 to 9
  CHECK(held_at(window, 12) == 3);  // 7 to 12
  CHECK(held_at(window, 13) == 2);
  CHECK(held_at({MaskKind::sliding_window, 1}, 7) == 1);
  CHECK(held_at({MaskKind::sliding_window, 1}, 8) == 1);
}

TEST_CASE("golden: a chunk gives back all before it when it begins") {
  const KeyMask chunks{MaskKind::chunked_local, 8};
  CHECK(held_at(chunks, 7) == 2);
  CHECK(held_at(chunks, 8) == 1);
  CHECK(held_at(chunks, 15) == 2);
  CHECK(held_at({MaskKind::chunked_local, 6}, 11) == 2);  // 6 to 11, the block of 4 to 7 still in use
  CHECK(held_at({MaskKind::chunked_local, 6}, 12) == 1);
}

TEST_CASE("golden: a window gives back blocks of its own group's size, to that group's arena") {
  const KeyMask window{MaskKind::sliding_window, 6};
  CacheGeometry geometry = geometry_with({window, window});
  geometry.attention_block_sizes = {4, 2};
  geometry.more_arenas = {50};
  geometry.attention_arenas = {0, 1};
  CacheManager cache(geometry);
  RequestBlocks blocks = cache.make_request();
  const CachedPrompt prompt{{}, 1};
  cache.begin_step();
  REQUIRE(cache.admit(blocks, prompt, {}, 1, false));
  for (std::int64_t token = 1; token <= 9; ++token) REQUIRE(cache.advance(blocks, prompt, token, 1, 0));
  // Token 9 sees 4 to 9: one block of 4 and two blocks of 2 have gone back.
  CHECK(cache.pool(0).num_held() == 3 - 1);
  CHECK(cache.pool(1).num_held() == 5 - 2);
  cache.release(blocks);
  CHECK(cache.pool(0).num_held() == 0);
  CHECK(cache.pool(1).num_held() == 0);
}

TEST_CASE("law: a full mask gives back nothing") { CHECK(held_at({}, 23) == 6); }

TEST_CASE("law: with windows the cache is sound at every step, and prefixes are found behind them") {
  CacheGeometry geometry =
      geometry_with({{}, {MaskKind::sliding_window, 6}, {MaskKind::chunked_local, 8}}, 1);
  std::vector<RequestRecord> records;
  Scheduler scheduler(geometry, false, [&](const RequestRecord& record) { records.push_back(record); });
  const std::vector<TokenRun> prompt{{22, extend_chain(empty_chain, 7, 0)}};
  for (std::int64_t index = 0; index < 2; ++index) {
    TraceRequest request;
    request.index = index;
    request.input_length = 22;
    request.output_length = 9;
    scheduler.submit(request, prompt);
    while (scheduler.num_in_flight() > 0) {
      scheduler.schedule(0);
      CHECK(find_violations(scheduler) == std::vector<std::string>{});
      for (const auto& running : scheduler.running()) {
        const auto& tables = running->blocks.attention;
        for (std::size_t group = 0; group < tables.size(); ++group) {
          const std::int64_t first = geometry.attention_masks[group].first_visible(running->computed_tokens) / block;
          for (std::int64_t i = 0; i < std::ssize(tables[group]); ++i)
            CHECK((tables[group][static_cast<std::size_t>(i)] == null_block_id) == (i < first));
        }
      }
      scheduler.complete(0);
      CHECK(find_violations(scheduler) == std::vector<std::string>{});
    }
  }
  REQUIRE(records.size() == 2);
  CHECK(records[0].hit_tokens == 0);
  CHECK(records[1].hit_tokens == 20);
}

TEST_CASE("edge: one mask for each attention group, or none") {
  CacheGeometry geometry = geometry_with({{}, {MaskKind::sliding_window, 6}});
  geometry.attention_groups = 3;
  CHECK_THROWS_WITH_AS(validate(geometry),
                       "geometry.attention_masks: 2 masks for 3 attention groups; give one for each, or none",
                       SpecError);
  geometry = geometry_with({{MaskKind::sliding_window, 0}});
  CHECK_THROWS_AS(validate(geometry), SpecError);
}

}  // namespace
}  // namespace hybridkv
