// Engines that keep one running state of a request in a slot, and beside it those that others may find.
#include <doctest/doctest.h>

#include <vector>

#include "audit/ownership.h"

namespace hybridkv::testing {

namespace {

constexpr std::int64_t tokens_group = 0, states_group = 1;

Recording cache_of_slots() {
  Recording recording;
  recording.unit_tokens = 2;
  recording.arenas = {{.blocks = 16}, {.blocks = 8}};
  recording.groups = {{.kind = RecordedKind::attention, .layers = {3}, .block_tokens = 2},
                      {.kind = RecordedKind::state,
                       .states = RecordedStates::running,
                       .layers = {0},
                       .block_tokens = 2,
                       .arena = 1}};
  return recording;
}

/// A run that reads slot `from` and leaves its state there, and where `kept` is not 0 another one in that slot.
RecordedRun run_of(std::int64_t request, std::int64_t start, std::int64_t tokens, std::int64_t from,
                   std::int64_t kept = 0) {
  RecordedStateUse use{.group = states_group, .from = start > 0 ? from : -1, .to = {{from, start + tokens}}};
  if (kept > 0) use.to.push_back({kept, start + tokens});
  return {.request = request, .start = start, .tokens = tokens, .states = {use}};
}

/// Request 4 computes 6 tokens, the last two one by one before it is known which they are, and keeps the state behind
/// them in slot 2. Request 17 finds it: it is copied from slot `found` to its own.
std::vector<RecordedEvent> events_of(std::int64_t found) {
  return {
      RequestEvent{4, 4, {101, 102}},
      StepEvent{1},
      TableEvent{TableChange::taken, 4, tokens_group, 0, {1, 2}},
      TableEvent{TableChange::taken, 4, states_group, 0, {1, 2}},
      ComputeEvent{{run_of(4, 0, 4, 1)}},
      StepEvent{2},
      TableEvent{TableChange::taken, 4, tokens_group, 2, {3}},
      ComputeEvent{{run_of(4, 4, 1, 1)}},
      StepEvent{3},
      ComputeEvent{{run_of(4, 5, 1, 1, 2)}},
      KeysEvent{4, {103}},
      StepEvent{4},
      TableEvent{TableChange::taken, 4, tokens_group, 3, {4}},
      ComputeEvent{{run_of(4, 6, 1, 1)}},
      EndEvent{4},
      RequestEvent{17, 8, {101, 102, 103, 104}},
      StepEvent{5},
      HitEvent{17, 6},
      TableEvent{TableChange::found, 17, tokens_group, 0, {1, 2, 3}},
      TableEvent{TableChange::taken, 17, tokens_group, 3, {5}},
      TableEvent{TableChange::taken, 17, states_group, 0, {3}},
      CopyEvent{.group = states_group, .from = found, .to = 3},
      ComputeEvent{{run_of(17, 6, 2, 3)}},
  };
}

std::vector<OwnershipFinding> findings_of(const std::vector<RecordedEvent>& events,
                                          const Recording& recording = cache_of_slots()) {
  std::vector<OwnershipFinding> found;
  Ownership ownership(recording, [&](const OwnershipFinding& finding) { found.push_back(finding); });
  std::int64_t line = 1;
  for (const RecordedEvent& event : events) ownership.consume(event, ++line);
  return found;
}

}  // namespace

TEST_CASE("edge: a state that was kept beside the running one gets its key when its tokens are known") {
  CHECK(findings_of(events_of(2)).empty());
}

TEST_CASE("regression: the running state of a request is found for the one that it kept") {
  const std::vector<OwnershipFinding> found = findings_of(events_of(1));
  REQUIRE(found.size() == 1);
  CHECK(found[0].fault == OwnershipFault::other_position);
  CHECK(found[0].request == 17);
  CHECK(found[0].group == states_group);
  CHECK(found[0].step == 5);
  CHECK(found[0].expected == 6);
  CHECK(found[0].found == 7);
}

TEST_CASE("edge: where no block stands for none, block 0 is held and written like any other") {
  Recording recording = cache_of_slots();
  for (RecordedArena& arena : recording.arenas) arena.null_block = -1;
  CHECK(findings_of({RequestEvent{4, 2, {101}},
                     StepEvent{1},
                     TableEvent{TableChange::taken, 4, tokens_group, 0, {0}},
                     TableEvent{TableChange::taken, 4, states_group, 0, {0}},
                     ComputeEvent{{run_of(4, 0, 2, 0)}},
                     EndEvent{4}},
                    recording)
            .empty());
  // Its state gets a key too, by which another request finds it.
  CHECK(findings_of({RequestEvent{4, 2, {}},
                     StepEvent{1},
                     TableEvent{TableChange::taken, 4, tokens_group, 0, {0}},
                     TableEvent{TableChange::taken, 4, states_group, 0, {0}},
                     ComputeEvent{{run_of(4, 0, 2, 0)}},
                     KeysEvent{4, {101}},
                     EndEvent{4},
                     RequestEvent{17, 4, {101, 102}},
                     StepEvent{2},
                     HitEvent{17, 2},
                     TableEvent{TableChange::found, 17, tokens_group, 0, {0}},
                     TableEvent{TableChange::taken, 17, tokens_group, 1, {1}},
                     TableEvent{TableChange::taken, 17, states_group, 0, {1}},
                     CopyEvent{.group = states_group, .from = 0, .to = 1},
                     ComputeEvent{{run_of(17, 2, 2, 1)}}},
                    recording)
            .empty());
}

}  // namespace hybridkv::testing
