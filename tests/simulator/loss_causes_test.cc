// Why tokens are computed again, in traces worked out by hand: each changes its cause, or loses nothing, once the one
// circumstance is another.
#include <doctest/doctest.h>

#include "tests/simulator/blocks/release_033_cases.h"
#include "tests/simulator/loss_run.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

CacheGeometry attention_only(std::int64_t blocks = 50) {
  return {.block_size_tokens = 4, .num_blocks = blocks, .state_groups = 0};
}

CacheGeometry with_states(CacheMode mode = CacheMode::align) {
  return {.block_size_tokens = 4, .num_blocks = 50, .state_groups = 1, .mode = mode};
}

/// States, of `groups` groups, in arenas of so many blocks.
CacheGeometry states_apart(std::int64_t attention_blocks, std::vector<std::int64_t> state_blocks) {
  CacheGeometry geometry = with_states();
  geometry.num_blocks = attention_blocks;
  geometry.state_groups = std::ssize(state_blocks);
  for (std::int64_t arena = 1; arena <= geometry.state_groups; ++arena) geometry.state_arenas.push_back(arena);
  geometry.more_arenas = std::move(state_blocks);
  return geometry;
}

/// What the last request of the trace lost.
ReuseLoss last_loss(const CacheGeometry& geometry, const std::vector<PromptSegments>& prompts,
                    const DriverSpec& driver = {}) {
  const TraceBatch batch = batch_of(prompts);
  const LossRun result = run_with_losses(geometry, driver, batch);
  check_sums(result, batch);
  return result.losses.rbegin()->second.loss;
}

/// A loss in which only these causes have tokens.
ReuseLoss expected(std::int64_t found, std::vector<std::pair<LossCause, std::int64_t>> lost) {
  ReuseLoss loss{.token_exact_tokens = found, .found_tokens = found};
  for (const auto& [cause, tokens] : lost) {
    loss.of(cause) = tokens;
    loss.token_exact_tokens += tokens;
  }
  return loss;
}

}  // namespace

TEST_CASE("edge: a block shared in part is lost, a whole one is not") {
  CHECK(last_loss(attention_only(), {{{1, 7}, {2, 3}}, {{1, 7}, {3, 5}}}) == expected(4, {{LossCause::block_tail, 3}}));
  CHECK(last_loss(attention_only(), {{{1, 8}, {2, 2}}, {{1, 8}, {3, 4}}}) == expected(8, {}));
}

TEST_CASE("edge: a match unit finds the tail of a prompt, not the middle of its block") {
  CacheGeometry fine = attention_only();
  fine.match_unit_tokens = 2;
  CHECK(last_loss(fine, {{{1, 10}}, {{1, 7}, {2, 5}}}) == expected(4, {{LossCause::block_tail, 3}}));
  CHECK(last_loss(fine, {{{1, 6}}, {{1, 6}, {2, 5}}}) == expected(6, {}));
}

TEST_CASE("edge: the tail of a copy lies behind the tokens that it may find, which costs all back to a whole block") {
  // The tail stands at 14 of 14 tokens. A copy may find 13 of them, and no tail lies between 8 and 13.
  CacheGeometry fine = attention_only();
  fine.block_size_tokens = 8;
  fine.match_unit_tokens = 2;
  CHECK(last_loss(fine, {{{1, 14}}, {{1, 14}}}) == expected(8, {{LossCause::last_token, 5}}));
  CHECK(last_loss(fine, {{{1, 14}}, {{1, 14}, {2, 1}}}) == expected(14, {}));
}

TEST_CASE("edge: the last token costs a block of a copy, and none where the prompt goes on") {
  CHECK(last_loss(attention_only(), {{{1, 8}}, {{1, 8}}}) == expected(4, {{LossCause::last_token, 3}}));
  CHECK(last_loss(attention_only(), {{{1, 8}}, {{1, 8}, {2, 1}}}) == expected(8, {}));
}

TEST_CASE("edge: a drafter that drops a block costs one more") {
  CacheGeometry drafter = attention_only();
  CHECK(last_loss(drafter, {{{1, 9}}, {{1, 9}}}) == expected(8, {}));
  drafter.drafter_drops_block = true;
  CHECK(last_loss(drafter, {{{1, 9}}, {{1, 9}}}) == expected(4, {{LossCause::last_token, 4}}));
}

TEST_CASE("edge: mode align leaves no state where prompts part, mode all does") {
  const std::vector<PromptSegments> prompts{{{1, 8}, {2, 6}}, {{1, 8}, {3, 5}}};
  CHECK(last_loss(with_states(), prompts) == expected(0, {{LossCause::no_state, 8}}));
  CHECK(last_loss(with_states(CacheMode::all), prompts) == expected(8, {}));
}

TEST_CASE("edge: a copy that ends with a block loses it to its last token, the rest to the missing state") {
  const std::vector<PromptSegments> copies{{{1, 8}}, {{1, 8}}};
  CHECK(last_loss(with_states(), copies) == expected(0, {{LossCause::last_token, 3}, {LossCause::no_state, 4}}));
  CHECK(last_loss(with_states(CacheMode::all), copies) == expected(4, {{LossCause::last_token, 3}}));
}

TEST_CASE("edge: a cache that keeps no state has no tails, whatever its groups, and nobody looks for keys in it") {
  for (const std::int64_t attention_groups : {0, 1})
    for (const bool later : {false, true}) {
      CacheGeometry none = with_states(CacheMode::none);
      if (later) none.rules.blocks = &match_unit_rules;
      none.attention_groups = attention_groups;
      CHECK(last_loss(none, {{{1, 10}}, {{1, 7}, {2, 5}}}) == expected(0, {{LossCause::no_state, 7}}));
      CHECK(last_loss(none, {{{1, 3}}, {{1, 3}}}) == expected(0, {{LossCause::no_state, 2}}));
      CHECK(none.resume_step() % none.match_unit() == 0);
    }
}

TEST_CASE("edge: retention drops the state of a chunk") {
  // Budget 8: the first prompt leaves states at 8 and 12.
  CacheGeometry geometry = with_states();
  geometry.max_num_batched_tokens = 8;
  const std::vector<PromptSegments> prompts{{{1, 10}, {2, 4}}, {{1, 10}, {3, 4}}};
  CHECK(last_loss(geometry, prompts) == expected(8, {{LossCause::block_tail, 2}}));
  geometry.retention_interval_tokens = 0;
  CHECK(last_loss(geometry, prompts) == expected(0, {{LossCause::block_tail, 2}, {LossCause::dropped, 8}}));
}

TEST_CASE("edge: the default retention of 0.33 drops a state until a second prompt has parted there") {
  CacheGeometry geometry = geometry_033(4, 50, 1);
  geometry.max_num_batched_tokens = 8;
  std::vector<PromptSegments> prompts{{{1, 10}, {2, 4}}, {{1, 10}, {3, 4}}};
  CHECK(last_loss(geometry, prompts) == expected(0, {{LossCause::block_tail, 2}, {LossCause::dropped, 8}}));
  prompts.push_back({{1, 10}, {4, 4}});
  CHECK(last_loss(geometry, prompts) == expected(8, {{LossCause::block_tail, 2}}));
  prompts.pop_back();
  geometry.retention_interval_tokens.reset();
  CHECK(last_loss(geometry, prompts) == expected(8, {{LossCause::block_tail, 2}}));
}

TEST_CASE("edge: the default retention of 0.33 drops blocks of windows") {
  CacheGeometry geometry = geometry_033(4, 50, 0);
  geometry.attention_groups = 2;
  geometry.attention_masks = {{}, {MaskKind::sliding_window, 5}};
  const std::vector<PromptSegments> prompts{{{1, 10}, {2, 4}}, {{1, 10}, {3, 4}}};
  CHECK(last_loss(geometry, prompts) == expected(0, {{LossCause::block_tail, 2}, {LossCause::dropped, 8}}));
  geometry.retention_interval_tokens.reset();
  CHECK(last_loss(geometry, prompts) == expected(8, {{LossCause::block_tail, 2}}));
}

TEST_CASE("edge: a state is evicted where states have too little room") {
  // Each prompt takes two states and leaves the first to be found; two fit.
  const std::vector<PromptSegments> prompts{{{1, 6}}, {{2, 6}}, {{1, 6}, {3, 1}}};
  CHECK(last_loss(states_apart(50, {3}), prompts) ==
        expected(0, {{LossCause::block_tail, 2}, {LossCause::state_evicted, 4}}));
  CHECK(last_loss(states_apart(50, {9}), prompts) == expected(4, {{LossCause::block_tail, 2}}));
}

TEST_CASE("edge: K and V are evicted where attention has too little room") {
  const std::vector<PromptSegments> prompts{{{1, 6}}, {{2, 10}}, {{1, 6}, {3, 1}}};
  CHECK(last_loss(states_apart(4, {50}), prompts) ==
        expected(0, {{LossCause::block_tail, 2}, {LossCause::kv_evicted, 4}}));
  CHECK(last_loss(states_apart(9, {50}), prompts) == expected(4, {{LossCause::block_tail, 2}}));
  // Where both are gone the state comes first.
  CHECK(last_loss(states_apart(4, {3}), prompts) ==
        expected(0, {{LossCause::block_tail, 2}, {LossCause::state_evicted, 4}}));
}

TEST_CASE("edge: the tail of a prompt that was there and was evicted is no tail of a block") {
  CacheGeometry fine = attention_only(6);
  fine.match_unit_tokens = 2;
  // Of five blocks the first prompt has two, the second one, of three, takes the rest, the third one those two as well.
  const std::vector<PromptSegments> prompts{{{1, 6}}, {{8, 12}}, {{9, 12}}, {{1, 6}, {2, 5}}};
  CHECK(last_loss(fine, prompts) == expected(0, {{LossCause::kv_evicted, 6}}));
}

TEST_CASE("edge: one group lacks what another one holds") {
  const std::vector<PromptSegments> prompts{{{1, 6}}, {{2, 10}}, {{1, 6}, {3, 1}}};
  const ReuseLoss lacking = expected(0, {{LossCause::block_tail, 2}, {LossCause::other_group, 4}});
  const ReuseLoss whole = expected(4, {{LossCause::block_tail, 2}});
  CHECK(last_loss(states_apart(50, {50, 3}), prompts) == lacking);
  CHECK(last_loss(states_apart(50, {50, 9}), prompts) == whole);
  CacheGeometry attention = attention_only();
  attention.attention_groups = 2;
  attention.attention_arenas = {0, 1};
  attention.more_arenas = {4};
  CHECK(last_loss(attention, prompts) == lacking);
  attention.more_arenas = {9};
  CHECK(last_loss(attention, prompts) == whole);
  // Of windows alone, too, one may hold what the other one lacks; where both lack it K and V are what was evicted.
  CacheGeometry windows = geometry_033(4, 50, 0);
  windows.retention_interval_tokens.reset();
  windows.attention_groups = 2;
  windows.attention_masks = {{MaskKind::sliding_window, 5}, {MaskKind::sliding_window, 5}};
  windows.attention_arenas = {0, 1};
  windows.more_arenas = {4};
  CHECK(last_loss(windows, prompts) == lacking);
  windows.more_arenas = {9};
  CHECK(last_loss(windows, prompts) == whole);
  windows.num_blocks = 4;
  windows.more_arenas = {4};
  CHECK(last_loss(windows, prompts) == expected(0, {{LossCause::block_tail, 2}, {LossCause::kv_evicted, 4}}));
}

TEST_CASE("edge: the earlier prompt is still being computed") {
  // Four tokens of a prompt a step: the second finds the first block of the first, in the step in which it appears.
  CacheGeometry geometry = attention_only();
  geometry.scheduler.long_prefill_threshold = 4;
  const std::vector<PromptSegments> copies{{{1, 12}}, {{1, 12}}};
  DriverSpec driver{.kind = DriverKind::closed_loop, .in_flight = 2};
  CHECK(last_loss(geometry, copies, driver) ==
        expected(4, {{LossCause::last_token, 3}, {LossCause::too_late, 4}}));
  driver.in_flight = 1;
  CHECK(last_loss(geometry, copies, driver) == expected(8, {{LossCause::last_token, 3}}));
}

TEST_CASE("edge: a request that does not fit finds nothing, whatever lies there") {
  const std::vector<PromptSegments> prompts{{{1, 8}}, {{1, 8}, {2, 6}}};
  CHECK(last_loss(attention_only(4), prompts) == expected(0, {{LossCause::no_memory, 8}}));
  CHECK(last_loss(attention_only(6), prompts) == expected(8, {}));
}

TEST_CASE("edge: what a request that does not fit began with is there for nobody") {
  const std::vector<PromptSegments> prompts{{{1, 14}}, {{1, 8}, {2, 1}}};
  CHECK(last_loss(attention_only(4), prompts) == expected(0, {{LossCause::no_memory, 8}}));
  CHECK(last_loss(attention_only(6), prompts) == expected(8, {}));
}

TEST_CASE("edge: positions are stopped in the order of the causes") {
  // 1600 tokens shared, a state at 1056 alone, evicted.
  const ReuseTrail trail{.token_exact_tokens = 1600,
                         .whole_tokens = 1584,
                         .allowed_tokens = 1584,
                         .missed = {{528, LossCause::no_state},
                                    {1056, LossCause::state_evicted},
                                    {1584, LossCause::no_state}}};
  CHECK(book(trail) == expected(0, {{LossCause::block_tail, 16},
                                    {LossCause::no_state, 528},
                                    {LossCause::state_evicted, 1056}}));
}

TEST_CASE("edge: losses over time are kept in at most twenty parts of equal requests") {
  LossSeries series;
  const ReuseLoss one{.token_exact_tokens = 1, .found_tokens = 1};
  for (std::int64_t index = 0; index < 100; ++index) series.add(index, 10, one);
  CHECK(series.part_requests() == 8);
  REQUIRE(series.parts().size() == 13);
  CHECK(series.parts().front() == LossSeries::Part{8, 80, {.token_exact_tokens = 8, .found_tokens = 8}});
  CHECK(series.parts().back() == LossSeries::Part{4, 40, {.token_exact_tokens = 4, .found_tokens = 4}});
}

TEST_CASE("regression: a request that waits for another one finds what a later one of the trace has left") {
  // The second reaches the engine last: 50 s after the first has ended.
  TraceBatch batch = batch_of({{{1, 8}}, {{2, 12}}, {{2, 12}}});
  batch.dependencies = {{.request = 0, .delay_seconds = 50}};
  batch.requests[0].num_dependents = 1;
  batch.requests[1].num_dependencies = 1;
  const DriverSpec driver{.kind = DriverKind::open_loop, .cost = {0.01, 0.02, 0.001}};
  const LossRun result = run_with_losses(attention_only(), driver, batch);
  CHECK(result.losses.at(1).loss == expected(8, {{LossCause::last_token, 3}}));
  CHECK(result.losses.at(2).loss == expected(0, {}));
}
