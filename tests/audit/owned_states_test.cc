// Where a run leaves states, and whose business it is that one is overwritten.
#include "audit/owned_states.h"

#include <doctest/doctest.h>

#include <vector>

#include "tests/audit/small_recording.h"

namespace hybridkv::testing {

TEST_CASE("edge: a state exported in the middle of a run, be it behind one token, needs the column before the last") {
  for (const std::int64_t exported : {1, 4}) {
    CAPTURE(exported);
    SmallRecording tape;
    // Request 9 computes 8 tokens in one step, which end in column 1. Block 0 stands for none.
    const auto events_with = [&](std::int64_t block) {
      return std::vector<RecordedEvent>{RequestEvent{9, 8, {901, 902, 903, 904}},
                                        StepEvent{1},
                                        TableEvent{TableChange::taken, 9, full_group, 0, {31, 32}},
                                        TableEvent{TableChange::taken, 9, window_group, 0, {41, 42}},
                                        TableEvent{TableChange::taken, 9, state_group, 0, {block, 52}},
                                        ComputeEvent{{{.request = 9, .start = 0, .tokens = 8, .exported = exported}}},
                                        EndEvent{9}};
    };
    tape.first = events_with(51);
    tape.between = tape.comes = tape.finds = tape.takes = tape.runs = {};
    CHECK(tape.findings().empty());
    tape.first = events_with(0);
    const OwnershipFinding found = only_finding(tape);
    CHECK(found.fault == OwnershipFault::no_block);
    CHECK(found.group == state_group);
    CHECK(found.first_token == exported);
  }
}

TEST_CASE("regression: a request goes on in the block whose state is still being stored") {
  SmallRecording tape;
  tape.between = tape.comes = tape.finds = tape.takes = tape.runs = {};
  tape.first.push_back(StoreEvent{
      .request = 4, .object = "behind 8", .group = state_group, .block = 22, .bytes = 4096, .is_begun = true});
  // Token 8 has rows of its own in blocks 3 and 13, but its state replaces the one behind 8 tokens in block 22.
  tape.runs = {StepEvent{3},
               TableEvent{TableChange::taken, 4, full_group, 2, {3}},
               TableEvent{TableChange::taken, 4, window_group, 2, {13}},
               ComputeEvent{{{.request = 4, .start = 8, .tokens = 1, .states = {{state_group, 22, {{22, 9}}}}}}}};
  const OwnershipFinding found = only_finding(tape);
  CHECK(found.fault == OwnershipFault::changed_while_stored);
  CHECK(found.request == 4);
  CHECK(found.group == state_group);
  CHECK(found.block == 22);
  CHECK(found.step == 3);
  CHECK(found.object == "behind 8");
  tape.between = {StoredEvent{"behind 8"}};
  CHECK(tape.findings().empty());
}

}  // namespace hybridkv::testing
