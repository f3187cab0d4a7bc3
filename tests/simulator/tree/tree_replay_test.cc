// Replays of the conversation trace through a dual pool with a radix tree, request by request and in every field,
// against what SGLang 0.5.23's own classes did.
#include "simulator/tree/tree_replay.h"

#include <doctest/doctest.h>

#include "tests/simulator/blocks/workload.h"
#include "tests/simulator/schedule/replay_trace.h"
#include "tests/simulator/tree_cases.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

void check_tree_replay(const TreeSettings& settings, const std::string& file) {
  const std::vector<std::string> expected = tree_case(file, std::string(tree_csv_header));
  REQUIRE(expected.size() == 2000);
  const auto trace = conversation_trace(2000);
  if (!trace) return;
  std::vector<std::string> rows;
  TreeReplay replay(settings);
  for (TraceBatch batch; trace->next(batch);)
    for (const TraceRequest& request : batch.requests)
      rows.push_back(tree_csv_row(replay.run(request, batch.prompt(request)), settings.has_states()));
  check_lines(rows, expected);
}

/// Qwen3.5-397B with 40 GiB for its caches on each of two GPUs.
TreeSettings large_qwen(std::int64_t page, std::int64_t chunk) {
  return {.token_slots = 1'477'030, .state_slots = 210, .page = page, .chunk_tokens = chunk};
}

}  // namespace

TEST_CASE("golden: SGLang replays 2000 requests, attention only, page 16") {
  TreeSettings settings = large_qwen(16, 8192);
  settings.state_slots = 0;
  check_tree_replay(settings, "radix_replay_plain_p16_c8192_397B.csv");
}

TEST_CASE("golden: SGLang replays 2000 requests, extra_buffer") {
  check_tree_replay(large_qwen(1, 8192), "radix_replay_eb_p1_c8192_397B.csv");
}

TEST_CASE("golden: SGLang replays 2000 requests, extra_buffer_lazy") {
  TreeSettings settings = large_qwen(1, 8192);
  settings.strategy = TreeStrategy::extra_buffer_lazy;
  check_tree_replay(settings, "radix_replay_lazy_p1_c8192_397B.csv");
}

TEST_CASE("golden: SGLang replays 2000 requests, no_buffer") {
  TreeSettings settings = large_qwen(1, 2048);
  settings.strategy = TreeStrategy::no_buffer;
  settings.overlap = false;
  check_tree_replay(settings, "radix_replay_nb_p1_c2048_397B.csv");
}

TEST_CASE("golden: SGLang replays 2000 requests, page 64") {
  check_tree_replay(large_qwen(64, 2048), "radix_replay_eb_p64_c2048_397B.csv");
}

TEST_CASE("golden: SGLang replays 2000 requests, small pools") {
  check_tree_replay({.token_slots = 250'000, .state_slots = 60, .page = 64, .chunk_tokens = 2048},
                    "radix_replay_eb_p64_c2048_T250k_S60.csv");
}

TEST_CASE("golden: SGLang replays 2000 requests, two states a path") {
  TreeSettings settings = large_qwen(1, 2048);
  settings.max_states_per_path = 2;
  check_tree_replay(settings, "radix_replay_eb_p1_c2048_cap2_397B.csv");
}

TEST_CASE("golden: SGLang replays 2000 requests with their output") {
  TreeSettings settings = large_qwen(1, 8192);
  settings.decodes = true;
  check_tree_replay(settings, "radix_replay_out_eb_t256.csv");
}

namespace {

std::vector<TreeRecord> records(const TreeSettings& settings, const TraceBatch& batch) {
  std::vector<TreeRecord> found;
  TreeReplay replay(settings);
  for (const TraceRequest& request : batch.requests) found.push_back(replay.run(request, batch.prompt(request)));
  return found;
}

}  // namespace

TEST_CASE("edge: a request that does not fit is refused and leaves the pools as they were") {
  const TreeSettings settings{.token_slots = 1000, .state_slots = 4};
  const std::vector<TreeRecord> found =
      records(settings, batch_of({{{1, 500}}, {{1, 400}, {2, 800}}, {{1, 448}, {3, 1}}}));
  CHECK(found[0].status == RequestStatus::ok);
  CHECK(found[1].status == RequestStatus::refused);
  CHECK(tree_csv_row(found[1], true) == "1,1200,-1,400,384,0,,0,0,552,3,448,1,refused");
  CHECK(found[1].tree_tokens == found[0].tree_tokens);
  CHECK(found[1].free_states == found[0].free_states);
  CHECK(found[2].hit_tokens == 448);
}

TEST_CASE("edge: admission asks for a token more than a request will ever hold") {
  // Rest 98, one new token, a page of one: 100 must be below what is free.
  CHECK(records({.token_slots = 101, .state_slots = 4}, batch_of({{{1, 98}}}))[0].status == RequestStatus::ok);
  CHECK(records({.token_slots = 100, .state_slots = 4}, batch_of({{{1, 98}}}))[0].status == RequestStatus::refused);
}

TEST_CASE("edge: a request that its output does not fit is stalled, and its pages come back") {
  // Admission reckons with 4096 tokens of output at most.
  const TreeSettings settings{.token_slots = 5000, .state_slots = 4, .decodes = true};
  const std::vector<TreeRecord> found = records(settings, batch_of({{{1, 500}}}, 6000));
  CHECK(found[0].status == RequestStatus::stalled);
  CHECK(found[0].tree_tokens == 448);  // what its prefill kept
  CHECK(found[0].free_tokens == 5000 - 448);
}

TEST_CASE("edge: the last token that is computed may be the first of its page, which the tree does not keep") {
  // The first of the two tokens that the request generates is computed, the second is not: 5 tokens, two whole pages.
  const TreeSettings settings{.token_slots = 100, .page = 2, .decodes = true};
  TreeReplay replay(settings);
  std::int64_t computed = 0;
  replay.on_forward = [&](const TreeForward& forward) { computed = forward.end; };
  const TraceBatch batch = batch_of({{{1, 4}}}, 2);
  const TreeRecord record = replay.run(batch.requests[0], batch.prompt(batch.requests[0]));
  CHECK(record.status == RequestStatus::ok);
  CHECK(computed == 5);
  CHECK(record.tree_tokens == 4);
  CHECK(record.free_tokens == 96);
}

TEST_CASE("edge: too few slots for one request's states stall it") {
  const std::vector<TreeRecord> found = records({.token_slots = 5000, .state_slots = 2}, batch_of({{{1, 500}}}));
  CHECK(found[0].status == RequestStatus::stalled);
  CHECK(found[0].free_states == 2);
}

TEST_CASE("golden: the lazy strategy without a free slot writes over the one it has, and the boundary counts") {
  TreeSettings settings{.token_slots = 5000, .state_slots = 3, .strategy = TreeStrategy::extra_buffer_lazy,
                        .decodes = true};
  // A running state, a tracking slot, and in the tree the prefill's state of token 256: none is free at token 512. The
  // tree gets the tracking slot when the request ends at 599, and the running state's slot comes back.
  CHECK(tree_csv_row(records(settings, batch_of({{{1, 300}}}, 300))[0], true) ==
        "0,300,0,0,,1,300,0,0,4488,1,512,2,ok");
  settings.track_interval = 64;  // 320, 384, 448, 512 and 576, each over the one before
  CHECK(tree_csv_row(records(settings, batch_of({{{1, 300}}}, 300))[0], true) ==
        "0,300,0,0,,1,300,0,0,4424,1,576,2,ok");
  settings.state_slots = 4;  // the fourth is taken and given back in turn
  CHECK(tree_csv_row(records(settings, batch_of({{{1, 300}}}, 300))[0], true) ==
        "0,300,0,0,,1,300,0,0,4424,2,576,2,ok");
}

TEST_CASE("golden: a request that ends while its only slot is written over gives the tree nothing") {
  TreeSettings settings{.token_slots = 5000, .state_slots = 3, .track_interval = 64,
                        .strategy = TreeStrategy::extra_buffer_lazy, .decodes = true};
  const auto kept = [&](std::int64_t output) {
    return records(settings, batch_of({{{1, 300}}}, output))[0].tree_tokens;
  };
  // 84 tokens of output end at 383: the state of 320 waits in the slot, and the next step writes that of 384.
  CHECK(kept(84) == 320);
  settings.step_ahead = true;
  CHECK(kept(83) == 320);
  CHECK(kept(84) == 256);  // what the prefill kept
  CHECK(kept(85) == 384);
  settings.state_slots = 4;  // the step in flight writes to a slot of its own
  CHECK(kept(84) == 320);
}

TEST_CASE("law: who watches a tree is told of every state that it takes, and of no other") {
  // Copies offer states where there are some already.
  const TraceBatch batch = batch_of({{{1, 1000}}, {{1, 1000}}, {{1, 600}, {2, 700}}, {{1, 1000}}}, 1);
  TreeReplay replay({.token_slots = 10'000, .state_slots = 20});
  std::int64_t told = 0, made = 0;
  replay.watch_states([&](std::uint64_t, std::int64_t, TreeStateChange change) {
    told += change == TreeStateChange::kept ? 1 : 0;
  });
  for (const TraceRequest& request : batch.requests) made += replay.run(request, batch.prompt(request)).states_made;
  CHECK(told == made);
  CHECK(made == 2);
}
