#include <doctest/doctest.h>

#include <string>

#include "base/error.h"
#include "tests/audit/small_recording.h"

namespace hybridkv::testing {

namespace {

/// Replaces the blocks that request 17 finds of a group.
void find_instead(SmallRecording& tape, std::int64_t group, std::vector<std::int64_t> blocks) {
  std::get<TableEvent>(tape.finds[static_cast<std::size_t>(group) + 1]).blocks = std::move(blocks);
}

/// Request 9 has another prompt and computes 8 tokens in one step, in blocks 31, 32; 41, 42; 51, 52.
std::vector<RecordedEvent> stranger(std::int64_t step, std::int64_t tokens = 8) {
  return {RequestEvent{9, 8, {901, 902, 903, 904}},
          StepEvent{step},
          TableEvent{TableChange::taken, 9, full_group, 0, {31, 32}},
          TableEvent{TableChange::taken, 9, window_group, 0, {41, 42}},
          TableEvent{TableChange::taken, 9, state_group, 0, {0, 52}},
          ComputeEvent{{{.request = 9, .start = 0, .tokens = tokens}}},
          EndEvent{9}};
}

void add(std::vector<RecordedEvent>& events, const std::vector<RecordedEvent>& more) {
  events.insert(events.end(), more.begin(), more.end());
}

StoreEvent store(std::string object, std::int64_t group, std::int64_t block, std::int64_t bytes) {
  return {.request = 4, .object = std::move(object), .group = group, .block = block, .bytes = bytes};
}

}  // namespace

TEST_CASE("edge: a recording without a fault raises nothing, and says what was checked") {
  OwnershipCounts counts;
  CHECK(SmallRecording{}.findings(&counts).empty());
  CHECK(counts.requests == 2);
  CHECK(counts.steps == 3);
  CHECK(counts.runs == 3);
  CHECK(counts.hits == 1);
  CHECK(counts.hit_tokens == 8);
  CHECK(counts.unknown == 0);
  // On each of two ranks: request 17 reads four units of the full group and, from token 5 on, two of the window. What
  // request 4 wrote itself and nobody touched needs no second look.
  CHECK(counts.checked_units == 2 * (4 + 2));
  CHECK(counts.checked_states == 2 * 2);
}

TEST_CASE("regression: KV of one prefix with the state of another") {
  SmallRecording tape;
  add(tape.between, stranger(3));
  std::get<StepEvent>(tape.comes[1]).step = 4;
  find_instead(tape, state_group, {0, 52});
  CHECK(only_finding(tape) == OwnershipFinding{.fault = OwnershipFault::other_prefix,
                                               .step = 4,
                                               .request = 17,
                                               .group = state_group,
                                               .rank = 0,
                                               .block = 52,
                                               .first_token = 8,
                                               .end_token = 8,
                                               .writer = 9,
                                               .writer_step = 3});
}

TEST_CASE("regression: a state of one prefix with the K and V of another") {
  SmallRecording tape;
  add(tape.between, stranger(3));
  find_instead(tape, full_group, {1, 32});
  const OwnershipFinding found = only_finding(tape);
  CHECK(found.fault == OwnershipFault::other_prefix);
  CHECK(found.group == full_group);
  CHECK(found.first_token == 4);
  CHECK(found.writer == 9);
}

TEST_CASE("regression: a checkpoint that is stale, one token ahead of its boundary") {
  SmallRecording tape;
  // The boundary of 8 was shifted by a draft: the block has the state behind 9.
  std::get<ComputeEvent>(tape.first.back()).runs[0].states = {{state_group, 21, {{22, 9}}}};
  const OwnershipFinding found = only_finding(tape);
  CHECK(found.fault == OwnershipFault::other_position);
  CHECK(found.expected == 8);
  CHECK(found.found == 9);
  CHECK(found.request == 17);
  CHECK(found.group == state_group);
  CHECK(found.step == 3);
  CHECK(found.writer == 4);
  CHECK(found.writer_step == 2);
}

TEST_CASE("regression: a state of the same request, of another number of tokens") {
  SmallRecording tape;
  std::get<ComputeEvent>(tape.first.back()).runs[0].states = {{state_group, 21, {{22, 6}}}};
  const OwnershipFinding found = only_finding(tape);
  CHECK(found.fault == OwnershipFault::other_position);
  CHECK(found.expected == 8);
  CHECK(found.found == 6);
}

TEST_CASE("regression: the state of a rejected draft, and its K and V") {
  SmallRecording tape;
  tape.after = {StepEvent{4},
                TableEvent{TableChange::taken, 17, state_group, 3, {26}},
                ComputeEvent{{{.request = 17, .start = 11, .tokens = 2, .drafts = 1,
                               .states = {{state_group, 25, {{25, 12}, {26, 13}}}}}}},
                AcceptEvent{17, 0},
                StepEvent{5}};
  SUBCASE("goes on from the state that counts") {
    tape.after.push_back(TableEvent{TableChange::taken, 17, full_group, 3, {6}});
    tape.after.push_back(TableEvent{TableChange::taken, 17, window_group, 3, {16}});
    add(tape.after, {ComputeEvent{{{.request = 17, .start = 12, .tokens = 1,
                                    .states = {{state_group, 25, {{25, 13}}}}}}}});
    // In step 4 the draft's row had no block.
    const std::vector<OwnershipFinding> found = tape.findings();
    REQUIRE(found.size() == 2);
    for (const OwnershipFinding& one : found) CHECK(one.fault == OwnershipFault::no_block);
    CHECK(found[0].step == 4);
    CHECK(found[1].group == window_group);
  }
  SUBCASE("goes on from the state of the draft") {
    tape.after.insert(tape.after.begin() + 1, {TableEvent{TableChange::taken, 17, full_group, 3, {6}},
                                               TableEvent{TableChange::taken, 17, window_group, 3, {16}}});
    SUBCASE("as if it had been accepted") {
      add(tape.after, {ComputeEvent{{{.request = 17, .start = 13, .tokens = 1,
                                      .states = {{state_group, 26, {{26, 14}}}}}}}});
      const std::vector<OwnershipFinding> found = tape.findings();
      REQUIRE(found.size() == 3);
      for (const OwnershipFinding& one : found) CHECK(one.fault == OwnershipFault::rejected_draft);
      CHECK(found[0].group == state_group);
      CHECK(found[0].block == 26);
      CHECK(found[1].group == full_group);
      CHECK(found[1].first_token == 12);
    }
    SUBCASE("with the K and V that count") {
      add(tape.after, {ComputeEvent{{{.request = 17, .start = 12, .tokens = 1,
                                      .states = {{state_group, 26, {{26, 13}}}}}}}});
      const OwnershipFinding found = only_finding(tape);
      CHECK(found.fault == OwnershipFault::rejected_draft);
      CHECK(found.group == state_group);
      CHECK(found.step == 5);
      CHECK(found.request == 17);
    }
    SUBCASE("where it was accepted") {
      std::get<AcceptEvent>(tape.after[5]).drafts = 1;
      add(tape.after, {ComputeEvent{{{.request = 17, .start = 13, .tokens = 1,
                                      .states = {{state_group, 26, {{26, 14}}}}}}}});
      CHECK(tape.findings().empty());
    }
  }
}

TEST_CASE("regression: a block of another request is overwritten while it is live") {
  SmallRecording tape;
  // The tables of the worker still have block 5 for request 9.
  tape.after = {RequestEvent{18, 4, {801, 802}},
                StepEvent{4},
                TableEvent{TableChange::moved, 18, full_group, 0, {5}},
                TableEvent{TableChange::taken, 18, window_group, 0, {16}},
                TableEvent{TableChange::taken, 18, state_group, 0, {26}},
                ComputeEvent{{{.request = 18, .start = 0, .tokens = 4}}},
                StepEvent{5},
                ComputeEvent{{{.request = 17, .start = 11, .tokens = 1}}}};
  CHECK(only_finding(tape) == OwnershipFinding{.fault = OwnershipFault::overwritten,
                                               .step = 5,
                                               .request = 17,
                                               .group = full_group,
                                               .rank = 0,
                                               .block = 5,
                                               .first_token = 8,
                                               .end_token = 10,
                                               .writer = 18,
                                               .writer_step = 4});
}

TEST_CASE("edge: what changed between two steps is looked at once") {
  SmallRecording tape;
  tape.after = {StepEvent{4},
                ComputeEvent{{{.request = 17, .start = 11, .tokens = 1}}},
                StepEvent{5},
                ComputeEvent{{{.request = 17, .start = 12, .tokens = 1}}}};
  const auto checked = [&] {
    OwnershipCounts counts;
    tape.findings(&counts);
    return counts.checked_units;
  };
  const std::int64_t alone = checked();
  // The same keys come into block 2 again, which request 17 has found.
  tape.between.clear();
  tape.after.insert(tape.after.begin(), ComputeEvent{{{.request = 4, .start = 4, .tokens = 4}}});
  tape.after.insert(tape.after.begin(), StepEvent{4});
  const std::int64_t once = checked();
  CHECK(once > alone);
  tape.after.insert(tape.after.end(), {StepEvent{6}, ComputeEvent{{{.request = 17, .start = 13, .tokens = 1}}}});
  CHECK(checked() == once);
}

TEST_CASE("regression: a block goes to a request while another one holds it") {
  SmallRecording tape;
  tape.after = {RequestEvent{18, 4, {801, 802}},
                StepEvent{4},
                TableEvent{TableChange::taken, 18, state_group, 0, {25}}};
  const OwnershipFinding found = only_finding(tape);
  CHECK(found.fault == OwnershipFault::taken_while_held);
  CHECK(found.request == 18);
  CHECK(found.writer == 17);
  CHECK(found.step == 4);
}

TEST_CASE("regression: reads a block that it gave back; gives back one twice") {
  SmallRecording tape;
  tape.after = {FreeEvent{17, full_group, {2}},
                StepEvent{4},
                ComputeEvent{{{.request = 17, .start = 11, .tokens = 1}}}};
  const OwnershipFinding found = only_finding(tape);
  CHECK(found.fault == OwnershipFault::freed);
  CHECK(found.group == full_group);
  CHECK(found.block == 2);
  CHECK(found.step == 4);
  tape.after = {FreeEvent{17, state_group, {25}}, FreeEvent{17, state_group, {25}}};
  CHECK(only_finding(tape).fault == OwnershipFault::not_held);
}

TEST_CASE("edge: a block behind the window may go") {
  SmallRecording tape;
  tape.after = {StepEvent{4},
                FreeEvent{17, window_group, {12}},
                TableEvent{TableChange::moved, 17, window_group, 1, {0}},
                ComputeEvent{{{.request = 17, .start = 11, .tokens = 1}}}};
  CHECK(tape.findings().empty());
  // But not while its last token is seen: at 10 tokens 7 to 10 are.
  tape.runs = {ComputeEvent{{{.request = 17, .start = 8, .tokens = 2}}}};
  std::get<ComputeEvent>(tape.after[3]).runs[0].start = 10;
  CHECK(only_finding(tape).fault == OwnershipFault::no_block);
}

TEST_CASE("regression: a state is copied to the wrong column") {
  SmallRecording tape;
  tape.takes.push_back(TableEvent{TableChange::taken, 17, state_group, 3, {26}});
  tape.takes.push_back(CopyEvent{17, state_group, 22, 26});
  std::get<ComputeEvent>(tape.runs[0]).runs[0].states = {{state_group, 25, {{25, 11}}}};
  const OwnershipFinding found = only_finding(tape);
  CHECK(found.fault == OwnershipFault::not_written);
  CHECK(found.request == 17);
  CHECK(found.block == 25);
  CHECK(found.step == 3);
  std::get<CopyEvent>(tape.takes.back()).to = 25;
  CHECK(tape.findings().empty());
}

TEST_CASE("regression: groups do not agree about the length of a hit") {
  SmallRecording tape;
  std::get<HitEvent>(tape.finds[0]).groups = {8, 8, 4};
  const OwnershipFinding found = only_finding(tape);
  CHECK(found.fault == OwnershipFault::hits_disagree);
  CHECK(found.group == state_group);
  CHECK(found.expected == 8);
  CHECK(found.found == 4);
  std::get<HitEvent>(tape.finds[0]).groups = {10, 8, 8};
  CHECK(tape.findings().empty());
}

TEST_CASE("regression: one page stored of two, units of an offload, another element type") {
  SmallRecording tape;
  tape.first.push_back(store("a", full_group, 1, 2048));
  OwnershipFinding found = only_finding(tape);
  CHECK(found.fault == OwnershipFault::object_size);
  CHECK(found.request == 4);
  CHECK(found.group == full_group);
  CHECK(found.step == 2);
  CHECK(found.expected == 4096);
  CHECK(found.found == 2048);
  // Elements instead of bytes: of fp32 a quarter.
  tape.first.back() = store("a", state_group, 22, 1024);
  found = only_finding(tape);
  CHECK(found.group == state_group);
  CHECK(found.found == 1024);
  StoreEvent typed = store("a", state_group, 22, 4096);
  typed.dtype = "bf16";
  tape.first.back() = typed;
  found = only_finding(tape);
  CHECK(found.fault == OwnershipFault::other_dtype);
  CHECK(found.dtype == "bf16");
}

namespace {

/// Request 17 loads its state of 8 tokens from an object into block 24.
SmallRecording loading() {
  SmallRecording tape;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    StoreEvent stored = store("s" + std::to_string(rank), state_group, 22, 4096);
    stored.rank = rank;
    tape.first.push_back(stored);
  }
  tape.finds.pop_back();
  tape.finds.push_back(TableEvent{TableChange::taken, 17, state_group, 1, {24}});
  for (std::int64_t rank = 0; rank < 2; ++rank)
    tape.finds.push_back(LoadEvent{.request = 17,
                                   .object = "s" + std::to_string(rank),
                                   .rank = rank,
                                   .group = state_group,
                                   .block = 24,
                                   .bytes = 4096});
  return tape;
}

}  // namespace

TEST_CASE("regression: what is loaded is of another rank, of another size, or was never stored") {
  SmallRecording tape = loading();
  CHECK(tape.findings().empty());
  auto& load = std::get<LoadEvent>(tape.finds.back());
  load.object = "s0";
  OwnershipFinding found = only_finding(tape);
  CHECK(found.fault == OwnershipFault::other_rank);
  CHECK(found.request == 17);
  CHECK(found.expected == 1);
  CHECK(found.found == 0);
  CHECK(found.writer == 4);
  load.object = "s1";
  load.bytes = 1024;
  CHECK(only_finding(tape).fault == OwnershipFault::object_size);
  load.bytes = 4096;
  load.object = "nobody's";
  const std::vector<OwnershipFinding> both = tape.findings();
  REQUIRE(both.size() == 2);
  CHECK(both[0].fault == OwnershipFault::object_unknown);
  CHECK(both[1].fault == OwnershipFault::not_written);
  CHECK(both[1].rank == 1);
  CHECK(both[1].object == "nobody's");
}

TEST_CASE("regression: the state of another group is loaded") {
  SmallRecording tape = loading();
  std::get<StoreEvent>(tape.first[tape.first.size() - 2]) = store("s0", full_group, 2, 4096);
  const std::vector<OwnershipFinding> found = tape.findings();
  REQUIRE(found.size() >= 1);
  CHECK(found[0].fault == OwnershipFault::other_group);
  CHECK(found[0].expected == state_group);
  CHECK(found[0].found == full_group);
}

TEST_CASE("regression: a block is taken while it is stored") {
  SmallRecording tape = loading();
  auto& begun = std::get<StoreEvent>(tape.first.back());
  begun.is_begun = true;
  tape.first.push_back(StoredEvent{"of before"});
  tape.first.push_back(StoredEvent{begun.object});
  CHECK(tape.findings().empty());
  tape.between = {EndEvent{4}, RequestEvent{9, 2, {901}}, StepEvent{3},
                  TableEvent{TableChange::taken, 9, state_group, 0, {22}}, EndEvent{9}};
  CHECK(tape.findings().empty());
  tape.first.pop_back();
  const OwnershipFinding found = only_finding(tape);
  CHECK(found.fault == OwnershipFault::changed_while_stored);
  CHECK(found.object == "s1");
  CHECK(found.request == 9);
  CHECK(found.block == 22);
  CHECK(found.step == 3);
}

TEST_CASE("regression: the tail of a block did not come with a transfer, and is NaN") {
  SmallRecording tape;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    StoreEvent stored = store("kv" + std::to_string(rank), full_group, 2, 4096);
    stored.rank = rank;
    tape.first.push_back(stored);
  }
  find_instead(tape, full_group, {1});
  tape.finds.push_back(TableEvent{TableChange::taken, 17, full_group, 1, {6}});
  for (std::int64_t rank = 0; rank < 2; ++rank)
    tape.finds.push_back(LoadEvent{.request = 17,
                                   .object = "kv" + std::to_string(rank),
                                   .rank = rank,
                                   .group = full_group,
                                   .block = 6,
                                   .bytes = 4096});
  CHECK(tape.findings().empty());
  std::get<LoadEvent>(tape.finds.back()).tokens = 3;
  CHECK(only_finding(tape) == OwnershipFinding{.fault = OwnershipFault::not_written,
                                               .step = 3,
                                               .request = 17,
                                               .group = full_group,
                                               .rank = 1,
                                               .block = 6,
                                               .first_token = 7,
                                               .end_token = 8,
                                               .writer = 4,
                                               .writer_step = 2,
                                               .object = "kv1"});
}

TEST_CASE("regression: a registered region is one page of each block") {
  SmallRecording tape;
  tape.first.insert(tape.first.begin(), RegionEvent{.rank = 1, .group = full_group, .bytes = 64 * 4096});
  CHECK(tape.findings().empty());
  std::get<RegionEvent>(tape.first.front()).bytes = 64 * 2048;
  const OwnershipFinding found = only_finding(tape);
  CHECK(found.fault == OwnershipFault::region_size);
  CHECK(found.expected == 64 * 4096);
  CHECK(found.rank == 1);
}

TEST_CASE("regression: zeroed while it can still be found; a block that was taken anew") {
  SmallRecording tape;
  tape.between.push_back(ZeroEvent{full_group, {2}});
  const OwnershipFinding found = only_finding(tape);
  CHECK(found.fault == OwnershipFault::not_written);
  CHECK(found.first_token == 4);
  CHECK(found.writer == 4);
  // Through a window of 4 tokens token 8 sees no more of it than tokens 5 to 7.
  tape.between.back() = ZeroEvent{window_group, {12}};
  const OwnershipFinding windowed = only_finding(tape);
  CHECK(windowed.first_token == 5);
  CHECK(windowed.end_token == 6);
  SmallRecording retaken;
  add(retaken.between, {RequestEvent{9, 2, {901}}, StepEvent{3}, TableEvent{TableChange::taken, 9, full_group, 0, {1}},
                        EndEvent{9}});
  const OwnershipFinding stale = only_finding(retaken);
  CHECK(stale.fault == OwnershipFault::not_written);
  CHECK(stale.block == 1);
  CHECK(stale.writer_step == 1);
}

TEST_CASE("law: a recording that is not whole proves nothing by what it does not have") {
  SmallRecording tape;
  // Request 4 is not in it: what 17 finds may be right.
  tape.first.clear();
  tape.between.clear();
  CHECK(tape.findings().size() == 3);
  tape.recording.sampled = true;
  OwnershipCounts counts;
  CHECK(tape.findings(&counts).empty());
  CHECK(counts.unknown == 2 * (4 + 2 + 1));
  tape.recording.sampled = false;
  tape.recording.cold = false;
  CHECK(tape.findings().empty());

  SUBCASE("what one that is left out wrote between two that are in it") {
    SmallRecording sampled;
    sampled.recording.sampled = true;
    add(sampled.between, stranger(3));
    find_instead(sampled, state_group, {0, 52});
    CHECK(sampled.findings().empty());
  }
  SUBCASE("but what is held cannot have changed") {
    SmallRecording held;
    held.recording.sampled = true;
    held.between.clear();
    CHECK(held.findings().empty());
    std::get<ComputeEvent>(held.first.back()).runs[0].states = {{state_group, 21, {{22, 6}}}};
    CHECK(only_finding(held).fault == OwnershipFault::other_position);
  }
}

TEST_CASE("edge: events that cannot be") {
  const auto refused = [](const RecordedEvent& event) {
    SmallRecording tape;
    tape.after = {event};
    try {
      tape.findings();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused(EndEvent{4}).starts_with("request 4 is not in flight; "));
  CHECK(refused(RequestEvent{17, 1, {}}) == "request 17 comes in while it is in flight; a number never comes again");
  CHECK(refused(FreeEvent{17, 3, {1}}) == "group 3 is none of the 3 of the header");
  CHECK(refused(TableEvent{TableChange::taken, 17, 3, 0, {1}}) == "group 3 is none of the 3 of the header");
  CHECK(refused(FreeEvent{17, 0, {64}}) == "block 64 is none of the 64 of arena 0");
  CHECK(refused(StoreEvent{.object = "a", .rank = 2}) == "rank 2 is none of the 2 of the header");
  CHECK(refused(AcceptEvent{17, 1}) == "1 drafts of request 17 were accepted, but its last run had 0");
  CHECK(refused(ComputeEvent{{{.request = 17, .start = 11, .tokens = 1, .drafts = 1}}})
            .starts_with("a run of request 17 starts at 11 and has 1 tokens, 1 of them drafts; "));
}

}  // namespace hybridkv::testing
