// What a cache with snapshots computes again, by cause: causes worked out by hand, each of which changes with its one
// circumstance.
#include "simulator/losses/snapshot_ledger.h"

#include <doctest/doctest.h>

#include "tests/simulator/blocks/workload.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// What the last of these prompts lost in a cache that keeps a state at the end of each.
ReuseLoss last_snapshot_loss(std::int64_t blocks, std::int64_t states, const std::vector<PromptSegments>& prompts) {
  SnapshotSettings settings{.blocks = blocks, .states = states};
  settings.points.from_end = {0};
  SnapshotReplay replay(settings);
  SnapshotLedger ledger(replay);
  const TraceBatch batch = batch_of(prompts);
  ReuseLoss last;
  for (const TraceRequest& request : batch.requests) {
    ledger.expect(request, batch.prompt(request));
    const SnapshotRecord record = replay.run(request, batch.prompt(request));
    REQUIRE(record.status == RequestStatus::ok);
    last = ledger.end(record);
  }
  return last;
}

/// Two whole blocks of the first prompt, which the last one goes on from.
const std::vector<PromptSegments> around_another{{{1, 64}}, {{2, 64}}, {{1, 64}, {3, 1}}};

ReuseLoss all_lost_to(LossCause cause, std::int64_t tokens) {
  ReuseLoss loss{.token_exact_tokens = tokens};
  loss.of(cause) = tokens;
  return loss;
}

}  // namespace

TEST_CASE("edge: a snapshot is evicted where states have too little room") {
  // A request that runs holds one of two states, so that the second prompt's own takes the place of the first's.
  CHECK(last_snapshot_loss(100, 2, around_another) == all_lost_to(LossCause::state_evicted, 64));
  CHECK(last_snapshot_loss(100, 9, around_another) == ReuseLoss{.token_exact_tokens = 64, .found_tokens = 64});
}

TEST_CASE("edge: a snapshot goes with the K and V before it where blocks have too little room") {
  // The second prompt takes the one block that is free and the last one of the first prompt.
  CHECK(last_snapshot_loss(3, 9, around_another) == all_lost_to(LossCause::kv_evicted, 64));
}

TEST_CASE("edge: a prompt that parts from another one before its only snapshot lacks a state") {
  CHECK(last_snapshot_loss(100, 9, {{{1, 64}}, {{1, 32}, {2, 8}}}) == all_lost_to(LossCause::no_state, 32));
}
