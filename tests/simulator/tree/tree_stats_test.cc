#include "simulator/tree/tree_stats.h"

#include <doctest/doctest.h>

using namespace hybridkv;

TEST_CASE("law: sums are of requests that ended ok, states and evictions of all that were taken in") {
  TreeStats stats;
  CHECK(stats.hit_rate() == 0);
  stats.add({.input_length = 1000, .hit_tokens = 640, .kv_match_tokens = 900, .branch_tokens = 896,
             .chunks = {256, 104}, .generated = 1, .evicted_tokens = 7, .evicted_states = 2, .states_made = 3,
             .states_used = 1, .states_trimmed = 1, .evicted_unused_states = 1, .free_tokens = 50, .free_states = 5,
             .tree_tokens = 900, .tree_states = 9});
  stats.add({.input_length = 100, .chunks = {100}, .generated = 1, .evicted_tokens = 1, .states_made = 1,
             .free_tokens = 40, .free_states = 4, .tree_tokens = 800, .tree_states = 11});
  stats.add({.input_length = 5000, .hit_tokens = 64, .kv_match_tokens = 64, .evicted_tokens = 30, .evicted_states = 1,
             .states_used = 1, .free_tokens = 60, .free_states = 6, .tree_tokens = 700, .tree_states = 8,
             .status = RequestStatus::refused});
  stats.add({.input_length = 9000, .free_tokens = 1, .free_states = 1, .status = RequestStatus::too_long});
  stats.add({.input_length = 700, .hit_tokens = 64, .kv_match_tokens = 64, .evicted_tokens = 2, .free_tokens = 60,
             .free_states = 6, .tree_tokens = 700, .tree_states = 8, .status = RequestStatus::stalled});
  CHECK(stats.ended() == 2);
  TreeStats expected;
  expected.requests = 5;
  expected.stalled = 1;
  expected.refused = 1;
  expected.too_long = 1;
  expected.prompt_tokens = 1100;
  expected.taken_prompt_tokens = 6800;
  expected.hit_tokens = 640;
  expected.requests_with_hit = 1;
  expected.kv_match_tokens = 900;
  expected.requests_with_branch = 1;
  expected.prefill_chunks = 3;
  expected.generated_tokens = 2;
  expected.checkpoints_made = 4;
  expected.checkpoints_used = 2;
  expected.states_trimmed = 1;
  expected.evicted_unused_states = 1;
  expected.evicted_tokens = 40;
  expected.checkpoints_evicted = 3;
  expected.most_tree_tokens = 900;
  expected.most_tree_states = 11;
  expected.free_tokens = 60;
  expected.free_states = 6;
  CHECK(stats == expected);
  CHECK(stats.hit_rate() == doctest::Approx(640.0 / 6800));
  CHECK(stats.rate(stats.kv_match_tokens) == doctest::Approx(900.0 / 6800));
}
