#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <map>

#include "base/error.h"
#include "simulator/losses/token_exact_bound.h"
#include "simulator/trace/trace_file.h"
#include "test_paths.h"
#include "tests/simulator/blocks/workload.h"
#include "tests/simulator/trace/read_trace.h"

using namespace hybridkv;
using hybridkv::testing::read_all;
using hybridkv::testing::TemporaryFile;

namespace {

const std::string traces = HYBRIDKV_TEST_DATA "/simulator/traces/";

struct Told {
  TraceBatch batch;
  std::optional<TraceForm> form;
  std::int64_t uncovered = 0;
  std::vector<std::int64_t> shared;  ///< with earlier prompts, token by token
};

Told told(const std::string& path) {
  Told told{.batch = read_all({.path = path})};
  TraceFile file({.path = path});
  for (TraceBatch batch; file.next(batch);) continue;
  told.form = file.form();
  told.uncovered = file.uncovered_tokens();
  TokenExactBound bound;
  for (const TraceRequest& request : told.batch.requests)
    told.shared.push_back(bound.match(told.batch.prompt(request)));
  return told;
}

template <class Value>
std::vector<Value> each(const TraceBatch& batch, Value TraceRequest::*field) {
  std::vector<Value> values;
  for (const TraceRequest& request : batch.requests) values.push_back(request.*field);
  return values;
}

using Numbers = std::vector<std::int64_t>;
using Seconds = std::vector<double>;

/// What is said of this content, without the path.
std::string refusal(const std::string& content, bool skip_bad_lines = false) {
  const TemporaryFile file(content);
  try {
    read_all({.path = file.path(), .skip_bad_lines = skip_bad_lines});
  } catch (const InputError& error) {
    const std::string what = error.what();
    CHECK(what.starts_with(file.path()));
    CHECK(what.find('\n') == std::string::npos);
    return what.substr(file.path().size());
  }
  return "";
}

const std::string header =
    R"({"schema": "x", "version": 2, "block_size": 4, "hash_id_scope": "local", "source": {}})" "\n";

std::string v2_row(const std::string& id, const std::string& rest = "") {
  return fmt::format(R"({{"request_id": "{}", "play_id": "p", "session_id": "s", "input_length": 4, )"
                     R"("output_length": 1, "hash_ids": [1]{}}})" "\n", id, rest);
}

std::string session(const std::string& requests, const std::string& scope = "local") {
  return fmt::format(R"({{"block_size": 4, "hash_id_scope": "{}", "requests": [{}]}})" "\n", scope, requests);
}

}  // namespace

TEST_CASE("golden: blocks: one id per block_size tokens, a full block's id or none for the last") {
  const Told read = told(traces + "blocks.jsonl");
  CHECK(read.form == TraceForm::blocks);
  CHECK(each(read.batch, &TraceRequest::input_length) == Numbers{12, 10, 10, 8});
  CHECK(each(read.batch, &TraceRequest::output_length) == Numbers{0, 5, 0, 0});
  CHECK(each(read.batch, &TraceRequest::arrival_seconds) == Seconds{0, 1.5, 2, 0});
  CHECK(each(read.batch, &TraceRequest::num_runs) == Numbers{3, 3, 3, 2});
  CHECK(read.shared == Numbers{0, 8, 8, 0});
  CHECK(read.uncovered == 2);
}

TEST_CASE("golden: tokens: prompts are compared in blocks of 16 token ids") {
  const Told read = told(traces + "tokens.jsonl");
  CHECK(read.form == TraceForm::tokens);
  CHECK(each(read.batch, &TraceRequest::input_length) == Numbers{20, 40, 17});
  CHECK(each(read.batch, &TraceRequest::output_length) == Numbers{2, 1, 0});
  CHECK(each(read.batch, &TraceRequest::arrival_seconds) == Seconds{0, 4, 4.5});
  CHECK(each(read.batch, &TraceRequest::turn) == Numbers{1, 2, 1});
  CHECK(each(read.batch, &TraceRequest::num_runs) == Numbers{2, 3, 2});
  CHECK(read.batch.requests[0].chat_id == read.batch.requests[1].chat_id);
  CHECK(read.batch.requests[0].chat_id != read.batch.requests[2].chat_id);
  CHECK(read.shared == Numbers{0, 16, 16});
  CHECK(read.uncovered == 0);
}

TEST_CASE("golden: lookups: a hash per chunk, as a number or as text; models share nothing") {
  const Told read = told(traces + "lookups.jsonl");
  CHECK(read.form == TraceForm::lookups);
  CHECK(each(read.batch, &TraceRequest::input_length) == Numbers{600, 512, 300, 512});
  CHECK(each(read.batch, &TraceRequest::output_length) == Numbers{0, 0, 0, 0});
  CHECK(each(read.batch, &TraceRequest::arrival_seconds) == Seconds{0, 0.25, 1, 2});
  CHECK(read.shared == Numbers{0, 511, 0, 0});
  CHECK(read.uncovered == 88);
}

TEST_CASE("golden: agentic: sessions side by side, sub-agents in their time, ids of a session its own") {
  const Told read = told(traces + "agentic.jsonl");
  CHECK(read.form == TraceForm::agentic);
  // The first sub-agent's times count from its call at 5 s, the second's from the start.
  CHECK(each(read.batch, &TraceRequest::arrival_seconds) == Seconds{0, 1, 5.5, 6, 7, 10, 20});
  CHECK(each(read.batch, &TraceRequest::input_length) == Numbers{128, 128, 64, 64, 128, 200, 150});
  CHECK(each(read.batch, &TraceRequest::chat_id) == Numbers{1, 2, 1, 2, 1, 1, 2});
  CHECK(each(read.batch, &TraceRequest::turn) == Numbers{1, 1, 1, 1, 2, 2, 2});
  CHECK(read.shared == Numbers{0, 0, 63, 63, 64, 128, 128});
  CHECK(read.uncovered == 22);
  CHECK(each(read_all({.path = traces + "agentic.jsonl", .max_requests = 3}), &TraceRequest::arrival_seconds) ==
        Seconds{0, 1, 5.5});
}

TEST_CASE("golden: agentic_v2: in the order in which requests can start, with what they wait for") {
  const Told read = told(traces + "agentic_v2.jsonl");
  CHECK(read.form == TraceForm::agentic_v2);
  CHECK(each(read.batch, &TraceRequest::input_length) == Numbers{128, 128, 64, 192});
  CHECK(each(read.batch, &TraceRequest::arrival_seconds) == Seconds{0, 0.1, 0.25, 1});
  CHECK(each(read.batch, &TraceRequest::num_dependents) == Numbers{2, 0, 1, 0});
  CHECK(read.shared == Numbers{0, 0, 63, 128});
  CHECK(read.batch.dependencies ==
        std::vector<TraceDependency>{{0, false, 0.25}, {0, true, 1}, {2, true, 0}});
  CHECK(read.batch.waits_for(read.batch.requests[3]).size() == 2);
}

TEST_CASE("edge: global ids are shared between sessions and plays, other models' never") {
  const std::string one = R"({"t": 0, "type": "n", "model": "m", "in": 8, "out": 1, "hash_ids": [1, 2]})";
  const std::string other = R"({"t": 0, "type": "n", "model": "o", "in": 8, "out": 1, "hash_ids": [1, 2]})";
  const auto shared_of = [&](const std::string& content) {
    const TemporaryFile file(content);
    return told(file.path()).shared;
  };
  CHECK(shared_of(session(one) + session(one)) == Numbers{0, 0});
  CHECK(shared_of(session(one, "global") + session(one, "global")) == Numbers{0, 7});
  CHECK(shared_of(session(one + ", " + one)) == Numbers{0, 7});
  CHECK(shared_of(session(one + ", " + other)) == Numbers{0, 0});
}

TEST_CASE("edge: tokens without an id are content of one request alone") {
  const std::string row = R"({"block_size": 4, "hash_ids": [1], "input_length": 7})" "\n";
  const TemporaryFile file(row + row);
  const Told read = told(file.path());
  CHECK(read.shared == Numbers{0, 4});
  CHECK(read.uncovered == 6);
}

TEST_CASE("edge: a token with the id 0 is one like any other") {
  const auto row = [](const char* ids) {
    return fmt::format(R"({{"session_id": "s", "turn_id": 0, "ts": 1, "num_input_tokens": 2, )"
                       R"("num_output_tokens": 1, "input_tokens": [{}], "output_tokens": [0]}})" "\n", ids);
  };
  const TemporaryFile file(row("0, 5") + row("0, 5") + row("1, 5"));
  CHECK(told(file.path()).shared == Numbers{0, 1, 0});
}

TEST_CASE("edge: a session spread over lines is one object") {
  const TemporaryFile file(
      "{\n  \"block_size\": 4,\n \"hash_id_scope\": \"local\",\n \"requests\": [\n"
      "{\"t\": 0, \"type\": \"s\", \"in\": 6, \"out\": 1, \"hash_ids\": [1, 2]}\n]\n}\n");
  const Told read = told(file.path());
  CHECK(read.form == TraceForm::agentic);
  CHECK(each(read.batch, &TraceRequest::input_length) == Numbers{6});
}

TEST_CASE("edge: rows that cannot be are refused with their line, field and numbers") {
  const auto leaf = [](const std::string& fields) { return session("{" + fields + "}"); };
  for (const auto& [content, what] : std::vector<std::pair<std::string, std::string>>{
           {R"({"block_size": 4, "hash_ids": [1], "input_length": 12})",
            ":1: the trace contradicts itself: 12 tokens make 3 blocks of 4, 3 of them full, and there are 1 ids"},
           {R"({"block_size": 0, "hash_ids": [1], "input_length": 12})", ":1: block_size is 0, outside 1 .. "},
           {R"({"block_size": 4, "hash_ids": [1]})", ":1: no field input_length"},
           {R"({"block_size": 4, "hash_ids": [], "input_length": 0})", ":1: input_length is 0, outside 1 .. "},
           {R"({"block_size": 4, "hash_ids": [-1.5], "input_length": 4})", ":1: hash_ids[0] is no 64-bit integer"},
           {"{\"block_size\": 4, \"hash_ids\": [1], \"input_length\": 4}\n"
            "{\"block_size\": 8, \"hash_ids\": [1], \"input_length\": 4}",
            ":2: block_size is 8, that of earlier lines 4"},
           {R"({"session_id": "s", "turn_id": 0, "ts": 1, "num_input_tokens": 3, "num_output_tokens": 0, )"
            R"("input_tokens": [1, 2], "output_tokens": []})",
            ":1: the trace contradicts itself: num_input_tokens is 3, input_tokens has 2"},
           {R"({"session_id": "s", "turn_id": 0, "ts": 1, "num_input_tokens": 2, "num_output_tokens": 0, )"
            R"("input_tokens": [1, -2], "output_tokens": []})", ":1: input_tokens[1] is -2, below 0"},
           {R"({"session_id": "s", "turn_id": 0, "ts": NaN, "num_input_tokens": 1, "num_output_tokens": 0, )"
            R"("input_tokens": [1], "output_tokens": []})", ":1: no JSON object"},
           {R"({"timestamp": "now", "chunk_size": 4, "seq_len": 4, "chunk_hashes": [1]})",
            ":1: timestamp is text, not a number"},
           {R"({"timestamp": 5, "chunk_size": 4, "seq_len": 9, "chunk_hashes": [1]})",
            ":1: the trace contradicts itself: 9 tokens make 3 blocks of 4, 2 of them full, and there are 1 ids"},
           {"{\"timestamp\": 5, \"chunk_size\": 4, \"seq_len\": 4, \"chunk_hashes\": [1]}\n"
            "{\"timestamp\": 4, \"chunk_size\": 4, \"seq_len\": 4, \"chunk_hashes\": [1]}",
            ":2: timestamp is 4, before the 5 of the first request; sort the lines by timestamp"},
           {session("", "locl"), ":1: hash_id_scope is 'locl'; did you mean 'local'?"},
           {R"({"hash_id_scope": "local", "requests": []})", ":1: no field block_size"},
           {R"({"block_size": 4, "requests": []})", ":1: no field hash_id_scope"},
           {leaf(R"("t": 0, "type": "subagnt")"), ":1: requests[0]: type is 'subagnt'; did you mean 'subagent'?"},
           {leaf(R"("t": -1, "type": "n")"), ":1: requests[0]: t is -1, outside 0 .. "},
           {leaf(R"("t": 0, "type": "n", "in": 4, "out": 1)"), ":1: requests[0]: hash_ids is missing or no list"},
           {leaf(R"("t": 0, "type": "subagent", "requests": [{"t": 0, "type": "n", "in": 0}])"),
            ":1: requests[0]: requests[0]: in is 0, outside 1 .. "},
           {v2_row("a", ", \"dependencies\": []"), ":1: no field schema; an agentic_v2 trace begins with a line"},
           {R"({"schema": "x", "version": 1})", ":1: version is 1; what is read is version 2"},
           {header + v2_row("a") + v2_row("a"), ":3: request_id 'a' stands in line 2 already"},
           {header + R"({"input_length": 4})", ":2: no field request_id"},
           {header + R"({"request_id": "a", "input_length": 4, "output_length": 1, "hash_ids": [1]})",
            ":2: hash_id_scope is local, and neither play_id nor session_id says to what"},
           {header + v2_row("first") + v2_row("b", R"(, "dependencies": [{"request_id": "frist", "trigger": )"
                                                   R"("completion", "delay_ms": 0}])"),
            ":3: request 'b' waits for 'frist', and no request of the trace is called that; did you mean 'first'?"},
           {header + v2_row("a", R"(, "dependencies": [{"request_id": "a", "trigger": "finish"}])"),
            ":2: dependencies[0]: trigger is 'finish'; known are completion, dispatch"},
           {header + v2_row("a", R"(, "dependencies": [{"request_id": "a", "trigger": "dispatch", "delay_ms": -5}])"),
            ":2: dependencies[0]: delay_ms is -5, outside 0 .. "},
           {header + v2_row("a", R"(, "dependencies": [{"request_id": "b", "trigger": "dispatch"}])") +
                v2_row("b", R"(, "dependencies": [{"request_id": "a", "trigger": "completion"}])"),
            " waits for itself, by way of what it waits for"},
           {header, ": the trace holds no request"},
           {"[{\"requests\": []}]", ":1: a list, where a trace has an object a line"}}) {
    CAPTURE(content);
    const std::string said = refusal(content);
    CAPTURE(said);
    CHECK(said.find(what) != std::string::npos);
  }
}

TEST_CASE("law: a trace cut anywhere is refused or read to the cut, never more") {
  for (const char* name : {"blocks", "tokens", "lookups", "agentic", "agentic_v2"}) {
    const std::string path = traces + name + ".jsonl";
    std::ifstream in(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    const std::size_t all = read_all({.path = path}).requests.size();
    for (std::size_t size = 0; size + 1 < bytes.size(); size += 7) {
      const TemporaryFile cut(bytes.substr(0, size));
      try {
        const std::size_t requests = read_all({.path = cut.path()}).requests.size();
        CHECK(requests <= all);
      } catch (const InputError& error) {
        CHECK(std::string(error.what()).starts_with(cut.path()));
      }
    }
  }
}

namespace {

/// A prompt as texts of 512 tokens, the last of them cut at `length`.
struct Prompt {
  Numbers texts;
  std::int64_t length = 0;
};

Numbers finer(const Prompt& prompt, std::int64_t tokens) {
  Numbers ids;
  for (std::int64_t start = 0; start < prompt.length; start += tokens)
    ids.push_back(prompt.texts[static_cast<std::size_t>(start / 512)] * 1'000'000 + start);
  return ids;
}

using Writer = std::function<std::string(std::size_t index, const Prompt& prompt)>;

}  // namespace

TEST_CASE("law: one workload in all forms gives one replay") {
  hybridkv::testing::Dice dice(11);
  std::vector<Prompt> prompts;
  for (std::int64_t i = 0; i < 60; ++i) {
    Prompt prompt;
    if (i > 0 && dice.roll(0, 3) > 0) prompt = prompts[static_cast<std::size_t>(dice.roll(0, i - 1))];
    prompt.texts.resize(static_cast<std::size_t>(dice.roll(0, std::ssize(prompt.texts))));
    for (std::int64_t more = dice.roll(1, 3); more > 0; --more) prompt.texts.push_back(100 * i + more);
    // Whole sixteens: token ids are compared in those.
    prompt.length = std::ssize(prompt.texts) * 512 - 16 * dice.roll(0, 31);
    prompts.push_back(prompt);
  }
  const auto list = [](const Numbers& ids) { return fmt::format("[{}]", fmt::join(ids, ", ")); };
  const std::map<TraceForm, Writer> writers{
      {TraceForm::mooncake, [&](std::size_t i, const Prompt& prompt) {
         return fmt::format(R"({{"timestamp": {}, "input_length": {}, "output_length": 3, "hash_ids": {}}})", 1000 * i,
                            prompt.length, list(prompt.texts));
       }},
      {TraceForm::qwen, [&](std::size_t i, const Prompt& prompt) {
         return fmt::format(R"({{"timestamp": {}, "chat_id": {}, "parent_chat_id": -1, "turn": 1, "input_length": {}, )"
                            R"("output_length": 3, "hash_ids": {}}})", i, i, prompt.length, list(finer(prompt, 16)));
       }},
      {TraceForm::blocks, [&](std::size_t i, const Prompt& prompt) {
         return fmt::format(R"({{"timestamp": {}, "block_size": 512, "input_length": {}, "output_length": 3, )"
                            R"("hash_ids": {}}})", 1000 * i, prompt.length, list(prompt.texts));
       }},
      {TraceForm::tokens, [&](std::size_t i, const Prompt& prompt) {
         return fmt::format(R"({{"session_id": {0}, "turn_id": 1, "ts": {1}, "num_input_tokens": {2}, )"
                            R"("num_output_tokens": 3, "input_tokens": {3}, "output_tokens": [1, 2, 3]}})", i, 77 + i,
                            prompt.length, list(finer(prompt, 1)));
       }},
      {TraceForm::agentic_v2, [&](std::size_t i, const Prompt& prompt) {
         return fmt::format(R"({{"request_id": "r{}", "play_id": "p", "input_length": {}, "output_length": 3, )"
                            R"("not_before_ms": {}, "hash_ids": {}}})", i, prompt.length, 1000 * i, list(prompt.texts));
       }}};
  const auto content = [&](const Writer& writer) {
    std::string text;
    for (std::size_t i = 0; i < prompts.size(); ++i) text += writer(i, prompts[i]) + "\n";
    return text;
  };
  std::map<TraceForm, std::string> contents;
  for (const auto& [form, writer] : writers) contents[form] = content(writer);
  contents[TraceForm::agentic_v2].insert(
      0, R"({"schema": "x", "version": 2, "block_size": 512, "hash_id_scope": "local", "source": {}})" "\n");
  std::string leaves;
  for (std::size_t i = 0; i < prompts.size(); ++i)
    leaves += fmt::format(R"({}{{"t": {}, "type": "s", "in": {}, "out": 3, "hash_ids": {}}})", i > 0 ? ", " : "", i,
                          prompts[i].length, list(prompts[i].texts));
  contents[TraceForm::agentic] =
      fmt::format(R"({{"block_size": 512, "hash_id_scope": "local", "requests": [{}]}})", leaves);
  const CacheGeometry geometry{.block_size_tokens = 64, .num_blocks = 220, .attention_groups = 1, .state_groups = 2,
                               .mode = CacheMode::align};
  const DriverSpec open{.kind = DriverKind::open_loop, .cost = {1e-4, 0.01, 0}};
  for (const DriverSpec& driver : {DriverSpec{}, open}) {
    std::vector<RequestRecord> expected;
    for (const auto& [form, text] : contents) {
      CAPTURE(to_string(form));
      const TemporaryFile file(text);
      const TraceBatch batch = read_all({.path = file.path()});
      REQUIRE(batch.requests.size() == prompts.size());
      auto run = hybridkv::testing::run(geometry, driver, batch);
      CHECK(run.stats.hit_tokens > 0);
      CHECK(run.stats.hit_tokens < run.stats.prompt_tokens / 2);
      for (RequestRecord& record : run.records) record.turn = 0;  // some forms do not say
      if (expected.empty()) expected = run.records;
      CHECK(run.records == expected);
    }
  }
  // A look-up generates nothing: the same prompts found, one at a time.
  std::vector<std::int64_t> hits;
  for (const bool lookups : {false, true}) {
    const TemporaryFile file(lookups ? content([&](std::size_t i, const Prompt& prompt) {
      return fmt::format(R"({{"timestamp": {}, "request_id": "r", "model_name": "m", "chunk_size": 512, )"
                         R"("seq_len": {}, "chunk_hashes": {}}})", 5 + i, prompt.length, list(prompt.texts));
    })
                                     : contents[TraceForm::mooncake]);
    hits.push_back(hybridkv::testing::run(geometry, {}, read_all({.path = file.path()})).stats.hit_tokens);
  }
  CHECK(hits[0] == hits[1]);
}

TEST_CASE("golden: the open loop starts a request once what it waits for has happened, plus the delay") {
  const TraceBatch batch = read_all({.path = traces + "agentic_v2.jsonl"});
  const CacheGeometry geometry{.block_size_tokens = 16, .num_blocks = 100, .attention_groups = 1, .state_groups = 0};
  // 128 tokens take 1.28 s; 4 tokens to generate 3 steps more of 0.5 s.
  const DriverSpec driver{.kind = DriverKind::open_loop, .cost = {.per_prefill_token = 0.01, .per_decode_step = 0.5}};
  const auto run = hybridkv::testing::run(geometry, driver, batch);
  std::map<std::int64_t, RequestRecord> by_index;
  for (const RequestRecord& record : run.records) by_index[record.index] = record;
  REQUIRE(by_index.size() == 4);
  const auto end = [&](std::int64_t index) { return by_index[index].arrival_seconds + by_index[index].finish_seconds; };
  CHECK(by_index[0].arrival_seconds == 0);
  CHECK(by_index[2].arrival_seconds == doctest::Approx(0.25));
  CHECK(end(0) > 1.28 + 3 * 0.5 - 1e-9);
  CHECK(by_index[3].arrival_seconds == doctest::Approx(std::max(end(0) + 1, end(2))));
  // Without what it waits for it would start at once.
  TraceBatch free = batch;
  for (TraceRequest& request : free.requests) request.num_dependencies = request.num_dependents = 0;
  for (const RequestRecord& record : hybridkv::testing::run(geometry, driver, free).records)
    if (record.index == 3) CHECK(record.arrival_seconds == 1);
}

TEST_CASE("edge: a request that is turned away lets those that wait for it start") {
  TraceBatch batch = read_all({.path = traces + "agentic_v2.jsonl"});
  CacheGeometry geometry{.block_size_tokens = 16, .num_blocks = 100, .attention_groups = 1, .state_groups = 0};
  geometry.scheduler.max_model_len = 100;  // of the four, the child alone fits
  const DriverSpec driver{.kind = DriverKind::open_loop, .cost = {.per_prefill_token = 0.01, .per_decode_step = 0.5}};
  const auto run = hybridkv::testing::run(geometry, driver, batch);
  CHECK(run.stats.requests == 4);
  CHECK(run.stats.too_long == 3);
  CHECK(run.records.size() == 4);
}
