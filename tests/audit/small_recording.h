#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "audit/event.h"
#include "audit/ownership.h"

namespace hybridkv::testing {

/// A cache of two ranks: K and V of layers 3 and 7, a window of 4 tokens in layer 5, states of layers 0, 1 and 2;
/// blocks of 4 tokens in one arena, keys every 2 tokens.
inline Recording small_cache() {
  Recording recording;
  recording.engine = "by hand";
  recording.ranks = 2;
  recording.unit_tokens = 2;
  recording.arenas = {{.blocks = 64, .null_block = 0}};
  recording.groups = {
      {.kind = RecordedKind::attention, .layers = {3, 7}, .block_tokens = 4, .block_bytes = 4096, .dtype = "bf16"},
      {.kind = RecordedKind::sliding, .layers = {5}, .block_tokens = 4, .block_bytes = 2048, .dtype = "bf16",
       .window_tokens = 4},
      {.kind = RecordedKind::state, .layers = {0, 1, 2}, .block_tokens = 4, .block_bytes = 4096, .dtype = "fp32"}};
  return recording;
}

inline constexpr std::int64_t full_group = 0, window_group = 1, state_group = 2;

/// Request 4 computes 8 tokens in steps 1 and 2 and ends; request 17 finds them and goes on in step 3 with 3 tokens.
/// Blocks: full 1, 2, 5; window 11, 12, 15; states 21, 22, 25, in the order of their columns.
struct SmallRecording {
  std::vector<RecordedEvent> first{
      RequestEvent{4, 8, {101, 102, 103, 104}},
      HitEvent{4, 0, {0, 0, 0}},
      StepEvent{1},
      TableEvent{TableChange::taken, 4, full_group, 0, {1}},
      TableEvent{TableChange::taken, 4, window_group, 0, {11}},
      TableEvent{TableChange::taken, 4, state_group, 0, {21}},
      ComputeEvent{{{.request = 4, .start = 0, .tokens = 4}}},
      StepEvent{2},
      TableEvent{TableChange::taken, 4, full_group, 1, {2}},
      TableEvent{TableChange::taken, 4, window_group, 1, {12}},
      TableEvent{TableChange::taken, 4, state_group, 1, {22}},
      ComputeEvent{{{.request = 4, .start = 4, .tokens = 4}}},
  };
  std::vector<RecordedEvent> between{EndEvent{4}};
  std::vector<RecordedEvent> comes{RequestEvent{17, 11, {101, 102, 103, 104, 105}}, StepEvent{3}};
  std::vector<RecordedEvent> finds{
      HitEvent{17, 8, {8, 8, 8}},
      TableEvent{TableChange::found, 17, full_group, 0, {1, 2}},
      TableEvent{TableChange::found, 17, window_group, 0, {0, 12}},
      TableEvent{TableChange::found, 17, state_group, 0, {0, 22}},
  };
  std::vector<RecordedEvent> takes{
      TableEvent{TableChange::taken, 17, full_group, 2, {5}},
      TableEvent{TableChange::taken, 17, window_group, 2, {15}},
      TableEvent{TableChange::taken, 17, state_group, 2, {25}},
  };
  std::vector<RecordedEvent> runs{ComputeEvent{{{.request = 17, .start = 8, .tokens = 3}}}};
  std::vector<RecordedEvent> after{};
  Recording recording = small_cache();

  std::vector<OwnershipFinding> findings(OwnershipCounts* counts = nullptr) const {
    std::vector<OwnershipFinding> found;
    Ownership ownership(recording, [&](const OwnershipFinding& finding) { found.push_back(finding); });
    std::int64_t line = 1;
    for (const auto* part : {&first, &between, &comes, &finds, &takes, &runs, &after})
      for (const RecordedEvent& event : *part) ownership.consume(event, ++line);
    if (counts) *counts = ownership.counts();
    return found;
  }
};

/// The one finding of a recording, without its line.
inline OwnershipFinding only_finding(const SmallRecording& tape) {
  const std::vector<OwnershipFinding> found = tape.findings();
  for (const OwnershipFinding& one : found)
    CAPTURE(std::string(to_string(one.fault)) + " " + std::to_string(one.request) + " " + std::to_string(one.group));
  REQUIRE(found.size() == 1);
  OwnershipFinding finding = found.front();
  finding.line = 0;
  return finding;
}

}  // namespace hybridkv::testing
