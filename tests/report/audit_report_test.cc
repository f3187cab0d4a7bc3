// What an audit says, sentence by sentence.
#include <doctest/doctest.h>

#include <string>

#include "report/audit_report.h"
#include "tests/contains.h"

using namespace hybridkv;
using hybridkv::testing::contains;

namespace {

Recording told_recording() {
  Recording recording;
  recording.engine = "an engine";
  recording.unit_tokens = 16;
  recording.arenas = {{.blocks = 100}};
  recording.groups = {{.kind = RecordedKind::attention, .layers = {3}, .block_tokens = 16, .dtype = "bf16"},
                      {.kind = RecordedKind::state, .layers = {0, 1, 2}, .block_tokens = 16},
                      {.kind = RecordedKind::state, .block_tokens = 16}};
  return recording;
}

std::string told(OwnershipFinding finding) { return finding_text(finding, told_recording()); }

}  // namespace

TEST_CASE("golden: every fault of a recording as a sentence") {
  OwnershipFinding state{.fault = OwnershipFault::other_prefix, .line = 9, .step = 820, .request = 17, .group = 1,
                         .rank = 0, .block = 5, .first_token = 32, .end_token = 32, .writer = 4, .writer_step = 812};
  CHECK(told(state) ==
        "request 17 reads layer 0's state (and 2 more layers') of another prefix, written by request 4 in step 812");
  state.group = 2;
  CHECK(told(state) == "request 17 reads group 2's state of another prefix, written by request 4 in step 812");
  OwnershipFinding rows = state;
  rows.group = 0;
  rows.end_token = 48;
  const auto as = [](OwnershipFinding finding, OwnershipFault fault) {
    finding.fault = fault;
    return told(finding);
  };
  CHECK(as(rows, OwnershipFault::overwritten) ==
        "request 17 reads layer 3's K and V of tokens 32 to 47, which request 4 overwrote in step 812");
  OwnershipFinding front = rows;
  front.first_token = 0;
  CHECK(as(front, OwnershipFault::overwritten) ==
        "request 17 reads layer 3's K and V of tokens 0 to 47, which request 4 overwrote in step 812");
  state.expected = 32;
  state.found = 33;
  CHECK(as(state, OwnershipFault::other_position) ==
        "request 17 reads group 2's state behind 33 tokens where it goes on behind 32, written by request 4 in step "
        "812");
  rows.expected = 32;
  rows.found = 16;
  CHECK(as(rows, OwnershipFault::other_position) ==
        "request 17 reads layer 3's K and V of tokens from 16 on where those from 32 on belong, written by request 4 "
        "in step 812");
  CHECK(as(rows, OwnershipFault::not_written) ==
        "request 17 reads layer 3's K and V of tokens 32 to 47 that nobody wrote there; what is there was written by "
        "request 4 in step 812");
  OwnershipFinding bare = rows;
  bare.writer = bare.writer_step = -1;
  bare.end_token = 33;
  bare.object = "a";
  CHECK(as(bare, OwnershipFault::not_written) ==
        "request 17 reads layer 3's K and V of token 32 that nobody wrote there and object a did not bring");
  CHECK(as(state, OwnershipFault::rejected_draft) ==
        "request 17 reads group 2's state behind 32 tokens of a draft that was rejected, written by request 4 in step "
        "812");
  CHECK(as(rows, OwnershipFault::freed) ==
        "request 17 reads layer 3's K and V of tokens 32 to 47 from a block that it gave back");
  CHECK(as(state, OwnershipFault::no_block) == "request 17 has no block for group 2's state behind 32 tokens");
  CHECK(as(rows, OwnershipFault::taken_while_held) ==
        "request 17 gets block 5 for layer 3's K and V, which request 4 holds");
  CHECK(as(rows, OwnershipFault::not_held) ==
        "request 17 gives back block 5 of layer 3's K and V, which it does not hold");
  CHECK(as(rows, OwnershipFault::hits_disagree) ==
        "request 17 resumes behind 32 tokens, and layer 3's K and V was found of 16");
}

TEST_CASE("golden: faults of transfers as sentences") {
  OwnershipFinding moved{.fault = OwnershipFault::object_size, .line = 9, .request = 17, .group = 0, .rank = 1,
                         .block = 5, .expected = 4096, .found = 2048, .object = "a"};
  const auto as = [&](OwnershipFault fault) {
    OwnershipFinding finding = moved;
    finding.fault = fault;
    return told(finding);
  };
  CHECK(told(moved) == "object a of request 17 has 2,048 bytes of layer 3's K and V where a block has 4,096, one of 2 "
                       "parts");
  CHECK(as(OwnershipFault::region_size) == "rank 1 registers 2,048 bytes for layer 3's K and V, and its blocks have "
                                           "4,096, one of 2 parts");
  moved.found = 32768;
  CHECK(contains(told(moved), "32,768 bytes of layer 3's K and V where a block has 4,096, 8 times as many"));
  moved.expected = 1;
  moved.found = 0;
  CHECK(as(OwnershipFault::other_rank) ==
        "request 17 loads layer 3's K and V on rank 1 from object a, which rank 0 stored");
  moved.found = 2;
  CHECK(as(OwnershipFault::other_group) ==
        "request 17 reads layer 3's K and V from object a, which has group 2's state");
  CHECK(as(OwnershipFault::object_unknown) ==
        "request 17 loads layer 3's K and V from object a, which nobody stored");
  moved.dtype = "fp16";
  CHECK(as(OwnershipFault::other_dtype) ==
        "request 17 stores layer 3's K and V as fp16 in object a, and the block has bf16");
  CHECK(as(OwnershipFault::changed_while_stored) ==
        "request 17 takes or writes the block of layer 3's K and V before its store as object a is through");
  moved.request = -1;
  CHECK(contains(as(OwnershipFault::object_unknown), "the engine loads "));
}

TEST_CASE("golden: a verdict says what it does not cover") {
  AuditAnswer answer;
  answer.name = "run.jsonl";
  answer.recording = told_recording();
  answer.counts = {.requests = 12000, .steps = 53210, .runs = 60000, .hits = 1};
  CHECK(contains(render_audit(answer, Format::table),
                 "RESULT: the cache is right: 12,000 requests, 53,210 steps, 1 hit\n"));
  CHECK_FALSE(contains(render_audit(answer, Format::table), "counts as right"));
  answer.recording.sampled = true;
  answer.recording.cold = false;
  answer.counts.hits = 0;
  answer.counts.unknown = 3;
  const std::string text = render_audit(answer, Format::table);
  CHECK(contains(text, "only some requests were recorded"));
  CHECK(contains(text, "in use before the recording began"));
  CHECK(contains(text, "3 reads of what the recording does not know were not checked"));
  CHECK(contains(text, "no request resumed behind a prefix"));
  for (std::int64_t i = 0; i < 30; ++i)
    answer.findings.push_back({.fault = OwnershipFault::freed, .line = i + 1, .step = 1, .request = i, .group = 0});
  answer.num_findings = 30;
  CHECK(contains(render_audit(answer, Format::markdown), "(step 1, line 1); 29 more findings"));
  CHECK(contains(render_audit(answer, Format::table), "and 10 more; --format csv has all"));
}
