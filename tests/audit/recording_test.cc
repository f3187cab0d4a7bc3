#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string>

#include "audit/event_fields.h"
#include "audit/event_reader.h"
#include "audit/event_writer.h"
#include "audit/recording_fault.h"
#include "audit/recording_file.h"
#include "base/error.h"
#include "base/line_reader.h"
#include "base/random.h"
#include "tests/audit/small_recording.h"
#include "test_paths.h"
#include "tests/scratch_folder.h"

namespace hybridkv::testing {

namespace {

/// A line with the bytes behind it that the parser wants.
std::string padded(std::string line) {
  line.reserve(line.size() + LineReader::padding);
  return line;
}

Recording header_again(const std::string& line) {
  EventReader reader;
  const std::string text = padded(line);
  return reader.header(text);
}

std::string refusal_of(const std::string& line, bool is_header) {
  EventReader reader;
  const std::string text = padded(line);
  try {
    if (is_header)
      reader.header(text);
    else
      reader.event(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string lines_of(const SmallRecording& tape) {
  std::string text = recording_line(tape.recording);
  for (const auto* part : {&tape.first, &tape.between, &tape.comes, &tape.finds, &tape.takes, &tape.runs, &tape.after})
    for (const RecordedEvent& event : *part) text += recording_line(event);
  return text;
}

}  // namespace

TEST_CASE("golden: lines of a recording") {
  CHECK(recording_line(RequestEvent{17, 8, {1, 0xabcdef0123456789}}) ==
        "{\"event\":\"request\",\"request\":17,\"prompt_tokens\":8,"
        "\"keys\":[\"0000000000000001\",\"abcdef0123456789\"]}\n");
  CHECK(recording_line(TableEvent{TableChange::found, 17, 1, 2, {5, 6}}) ==
        "{\"event\":\"find\",\"request\":17,\"group\":1,\"first\":2,\"blocks\":[5,6]}\n");
  CHECK(recording_line(ComputeEvent{{{.request = 1, .start = 4, .tokens = 3, .drafts = 2,
                                      .states = {{2, 9, {{9, 5}, {10, 6}}}}},
                                     {.request = 2, .start = 0, .tokens = 1}}}) ==
        "{\"event\":\"compute\",\"runs\":[{\"request\":1,\"start\":4,\"tokens\":3,\"drafts\":2,\"states\":"
        "[{\"group\":2,\"from\":9,\"to\":[{\"block\":9,\"tokens\":5},{\"block\":10,\"tokens\":6}]}]},"
        "{\"request\":2,\"start\":0,\"tokens\":1}]}\n");
  CHECK(recording_line(StoreEvent{.request = 4, .object = "a \"b\"\n", .group = 1, .block = 3, .bytes = 10,
                                  .is_begun = true}) ==
        "{\"event\":\"store\",\"request\":4,\"object\":\"a \\\"b\\\"\\u000a\",\"group\":1,\"block\":3,\"bytes\":10,"
        "\"begun\":true}\n");
}

TEST_CASE("law: every event and header is read back as it was written") {
  std::vector<RecordedEvent> events{StepEvent{7},
                                    RequestEvent{1, 3, {5}},
                                    RequestEvent{2, 3, {}},
                                    KeysEvent{1, {6, 7}},
                                    HitEvent{1, 8, {8, 8}},
                                    TableEvent{TableChange::taken, 1, 0, 0, {1}},
                                    TableEvent{TableChange::found, 1, 0, 0, {1}},
                                    TableEvent{TableChange::moved, 1, 0, 0, {0}},
                                    FreeEvent{1, 0, {1, 2}},
                                    EndEvent{1},
                                    PreemptEvent{1},
                                    CopyEvent{1, 0, 1, 2},
                                    CopyEvent{-1, 0, 1, 2},
                                    ZeroEvent{0, {3}},
                                    ComputeEvent{{{.request = 1, .start = 0, .tokens = 4, .exported = 2}}},
                                    AcceptEvent{1, 0},
                                    StoreEvent{-1, "o", 1, 0, 4, 10, "fp16", true},
                                    StoredEvent{"o"},
                                    LoadEvent{1, "o", 1, 0, 4, 10, 3},
                                    DropEvent{"o"},
                                    RegionEvent{1, 0, 100}};
  EventReader reader;
  for (const RecordedEvent& event : events) {
    const std::string line = padded(recording_line(event));
    CAPTURE(line);
    CHECK(reader.event(line) == event);
  }
  Recording recording = small_cache();
  recording.sampled = true;
  recording.cold = false;
  recording.groups[2].states = RecordedStates::running;
  CHECK(header_again(recording_line(recording)) == recording);
}

TEST_CASE("edge: keys of any text; fields that nobody knows are passed over") {
  EventReader reader;
  const std::string line =
      padded(R"({"event":"keys","request":1,"keys":["ff","00000000000000ff","sha256:00ff","sha256:00fe"],"more":{}})");
  const auto& keys = std::get<KeysEvent>(reader.event(line)).keys;
  CHECK(keys[0] == 255);
  CHECK(keys[1] == 255);
  CHECK(keys[2] != keys[3]);
}

TEST_CASE("edge: what is no line of a recording") {
  CHECK(refusal_of("nonsense", false).starts_with("no JSON object: "));
  CHECK(refusal_of("[1]", false) == "no JSON object");
  CHECK(refusal_of("{}", false) == "no field \"event\" that says what happened");
  CHECK(refusal_of(R"({"event":"stores"})", false) ==
        "\"stores\" is no event; did you mean 'store' or 'stored'?");
  CHECK(refusal_of(R"({"event":"step"})", false) == "no field \"step\"");
  CHECK(refusal_of(R"({"event":"step","step":1.5})", false) == "\"step\" is no whole number");
  CHECK(refusal_of(R"({"event":"step","step":-2})", false) == "\"step\" is -2, but goes from -1 to 2^60");
  CHECK(refusal_of(R"({"event":"free","request":1,"group":0,"blocks":3})", false) == "\"blocks\" is no list");
  CHECK(refusal_of(R"({"event":"compute","runs":[3]})", false) == "\"runs\" has an entry that is no object");
  CHECK(refusal_of("{}", true).starts_with("this is no recording: its first line has no field"));
  CHECK(refusal_of(R"({"hybridkv_recording":2})", true).starts_with("the recording has version 2, and this program"));
  CHECK(refusal_of(R"({"hybridkv_recording":1,"unit_tokens":3,"arenas":[{"blocks":9}],
                      "groups":[{"kind":"attention","block_tokens":4}]})", true) ==
        "groups[0]: a block of 4 tokens is no whole number of units of 3; give a unit_tokens that divides the block of "
        "every group");
  CHECK(refusal_of(R"({"hybridkv_recording":1,"unit_tokens":2,"arenas":[{"blocks":9}],
                      "groups":[{"kind":"slidin","block_tokens":4}]})", true) ==
        "\"kind\" is \"slidin\"; did you mean 'sliding'?");
  CHECK(refusal_of(R"({"hybridkv_recording":1,"unit_tokens":2,"arenas":[{"blocks":9}],
                      "groups":[{"kind":"sliding","block_tokens":4}]})", true) ==
        "groups[0]: kind sliding needs window_tokens, at least 1");
  CHECK(refusal_of(R"({"hybridkv_recording":1,"unit_tokens":2,"arenas":[],
                      "groups":[{"kind":"attention","block_tokens":4}]})", true) ==
        "groups[0]: arena 0 is none of the 0 there are");
  for (const int ranks : {1025, 0})
    CHECK(refusal_of(fmt::format(R"({{"hybridkv_recording":1,"unit_tokens":2,"ranks":{},"arenas":[{{"blocks":9}}],
                                    "groups":[{{"kind":"attention","block_tokens":4}}]}})", ranks), true) ==
          fmt::format("ranks is {}, but goes from 1 to 1024", ranks));
}

TEST_CASE("edge: a file is audited with its line numbers; what is none is refused with its place") {
  const ScratchFolder folder;
  const std::string path = (folder.path / "run.jsonl").string();
  const auto audit = [&](const std::string& text) {
    std::ofstream(path) << text;
    return audit_recording(path);
  };
  SmallRecording tape;
  std::get<HitEvent>(tape.finds[0]).groups = {8, 8, 4};
  const OwnershipVerdict verdict = audit("\n" + lines_of(tape));
  CHECK(verdict.num_findings == 1);
  CHECK(verdict.findings == [&] {
    std::vector<OwnershipFinding> found = tape.findings();
    for (OwnershipFinding& one : found) ++one.line;  // for the blank line
    return found;
  }());
  CHECK(verdict.counts.requests == 2);
  CHECK(audit(lines_of(SmallRecording{})).is_right());
  const auto refused = [&](const std::string& text) {
    try {
      audit(text);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused("") == path + ": the recording is empty; its first line is a header (docs/audit.md)");
  CHECK(refused("{}\n").starts_with(path + ":1: this is no recording: "));
  CHECK(refused(recording_line(small_cache()) + "\n{\"event\":\"end\",\"request\":5}\n")
            .starts_with(path + ":3: request 5 is not in flight; "));
  CHECK(refused(recording_line(small_cache())).starts_with(path + ": the recording has a header and no step, "));
}

TEST_CASE("law: a damaged recording is refused or audited, whatever is damaged") {
  // Digits and brackets of a right recording, changed at random; what remains is refused or has findings.
  const std::string right = lines_of(SmallRecording{});
  std::int64_t refused = 0, audited = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::string text = right;
    for (std::uint64_t change = 0; change < 1 + seed % 3; ++change) {
      const std::uint64_t random = mix(seed, change);
      const std::size_t at = random % text.size();
      if (text[at] == '\n') continue;
      const std::string_view with = "0123456789,:{}[]\"-eakrstp";
      if (random % 5 == 0)
        text.insert(at, random % 7 == 0 ? "99999999" : "9");
      else
        text[at] = with[(random >> 32) % with.size()];
    }
    EventReader reader;
    try {
      std::istringstream lines(text);
      std::string line;
      std::getline(lines, line);
      Ownership ownership(header_again(line), [](const OwnershipFinding&) {});
      while (std::getline(lines, line)) ownership.consume(reader.event(padded(line)), 1);
      ++audited;
    } catch (const InputError&) {
      ++refused;
    }
  }
  CHECK(refused > 300);
  CHECK(audited > 100);
}

TEST_CASE("law: docs/audit.md names every event, every finding and every fault that can be planted") {
  const std::string text = text_of(HYBRIDKV_SOURCE_DIR "/docs/audit.md");
  const auto names = [&](std::string_view name) {
    CAPTURE(name);
    CHECK(text.find("`" + std::string(name) + "`") != std::string::npos);
  };
  for (const NamedEvent& event : named_events()) names(event.name);
  for (const auto& fault : ownership_fault_names) names(fault.name);
  for (const RecordingFault& fault : all_recording_faults()) {
    names(fault.name);
    CHECK(text.find(fmt::format("| `{}` | {} |\n", fault.name, fault.description)) != std::string::npos);
  }
}

}  // namespace hybridkv::testing
