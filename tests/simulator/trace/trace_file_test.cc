#include "simulator/trace/trace_file.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "test_paths.h"
#include "tests/simulator/trace/read_trace.h"

using namespace hybridkv;
using hybridkv::testing::read_all;
using hybridkv::testing::TemporaryFile;

namespace {

const std::string invented = HYBRIDKV_TEST_DATA "/simulator/invented/";

std::string good(int id) {
  return R"({"timestamp": 5, "input_length": 600, "output_length": 7, "hash_ids": [)" + std::to_string(id) + ", 2]}\n";
}

/// The message with which reading this content stops.
std::string message_for(const std::string& content, bool skip_bad_lines = false) {
  const TemporaryFile file(content);
  try {
    read_all({.path = file.path(), .skip_bad_lines = skip_bad_lines});
  } catch (const InputError& error) {
    const std::string what = error.what();
    CHECK(what.find(file.path()) == 0);
    return what.substr(file.path().size());
  }
  return "";
}

}  // namespace

TEST_CASE("edge: the Mooncake form: milliseconds, 512-token ids, the last one cut at input_length") {
  const TraceBatch batch = read_all({.path = invented + "mooncake.jsonl"});
  REQUIRE(batch.requests.size() == 11);
  const TraceRequest& request = batch.requests[2];
  CHECK(request.index == 2);
  CHECK(request.arrival_seconds == doctest::Approx(0.5));
  CHECK(request.input_length == 2000);
  CHECK(request.output_length == 22);
  CHECK(request.chat_id == -1);
  CHECK(request.turn == 0);
  std::vector<std::int64_t> ends;
  for (const TokenRun& run : batch.prompt(request)) ends.push_back(run.end_token);
  CHECK(ends == std::vector<std::int64_t>{512, 1024, 1536, 2000});
  CHECK(batch.prompt(request)[1].chain == batch.prompt(batch.requests[0])[1].chain);
  CHECK(batch.prompt(request)[2].chain != batch.prompt(batch.requests[0])[2].chain);
}

TEST_CASE("edge: the Qwen-Bailian form: seconds, 16-token ids, chat and turn") {
  const TraceBatch batch = read_all({.path = invented + "qwen.jsonl"});
  REQUIRE(batch.requests.size() == 11);
  const TraceRequest& request = batch.requests[7];
  CHECK(request.arrival_seconds == doctest::Approx(1.75));
  CHECK(request.num_runs == 188);
  CHECK(request.chat_id == 107);
  CHECK(request.parent_chat_id == 103);
  CHECK(request.turn == 2);
}

TEST_CASE("edge: a chat of the Qwen-Bailian form continues another one, or none, which is -1") {
  const auto line = [](int parent) {
    return R"({"timestamp": 5, "chat_id": 7, "parent_chat_id": )" + std::to_string(parent) +
           R"(, "turn": 1, "input_length": 16, "output_length": 1, "hash_ids": [1]})" "\n";
  };
  CHECK(message_for(line(0) + line(-1)).empty());
  CHECK(message_for(line(0) + line(-2)).starts_with(":2: parent_chat_id is -2, outside -1 .. "));
}

TEST_CASE("edge: requests with different salts share no content, those with the same or none do") {
  const auto line = [](const std::string& more) {
    return R"({"timestamp": 5, "input_length": 600, "output_length": 7, "hash_ids": [1, 2])" + more + "}\n";
  };
  const TemporaryFile file(line("") + line(R"(, "cache_salt": "a")") + line(R"(, "cache_salt": "b")") +
                           line(R"(, "cache_salt": "a")") + line(R"(, "cache_salt": null)"));
  const TraceBatch batch = read_all({.path = file.path()});
  REQUIRE(batch.requests.size() == 5);
  std::vector<std::uint64_t> first;
  for (const TraceRequest& request : batch.requests) first.push_back(batch.prompt(request).front().chain);
  CHECK(first[1] == first[3]);
  CHECK(first[0] == first[4]);
  CHECK(first[0] != first[1]);
  CHECK(first[1] != first[2]);
  CHECK(message_for(line(R"(, "cache_salt": [1])")).find("cache_salt is a list, not text") != std::string::npos);
}

TEST_CASE("edge: gzip and zstd files read like plain ones") {
  const TraceBatch plain = read_all({.path = invented + "mooncake.jsonl"});
  CHECK(read_all({.path = invented + "mooncake.jsonl.gz"}) == plain);
  if (std::system("zstd --version > /dev/null 2>&1") != 0) {
    std::puts("SKIPPED: there is no program zstd");
    return;
  }
  CHECK(read_all({.path = invented + "mooncake.jsonl.zst"}) == plain);
}

TEST_CASE("edge: a missing zstd program is named") {
  const char* const path = std::getenv("PATH");
  const std::string saved = path == nullptr ? "" : path;
  ::setenv("PATH", "/nowhere", 1);
  CHECK_THROWS_WITH_AS(read_all({.path = invented + "mooncake.jsonl.zst"}), doctest::Contains("the program zstd"),
                       ProgramError);
  ::setenv("PATH", saved.c_str(), 1);
}

TEST_CASE("fault: cut compressed files are reported, not read as shorter traces") {
  for (const char* name : {"mooncake.jsonl.gz", "mooncake.jsonl.zst"}) {
    if (std::string(name).ends_with("zst") && std::system("zstd --version > /dev/null 2>&1") != 0) continue;
    std::ifstream in(invented + name, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    const TemporaryFile cut(bytes.substr(0, bytes.size() - 30));
    CHECK_THROWS_WITH_AS(read_all({.path = cut.path()}), doctest::Contains(("cannot read " + cut.path()).c_str()),
                         InputError);
  }
}

TEST_CASE("edge: unusable paths are refused") {
  CHECK_THROWS_WITH_AS(TraceFile({.path = "/nowhere/trace"}), doctest::Contains("/nowhere/trace"), InputError);
  CHECK_THROWS_WITH_AS(TraceFile({.path = "/tmp"}), doctest::Contains("it is a directory"), InputError);
}

TEST_CASE("edge: a published trace is found where those lie that are shared beside the checkout, or nowhere") {
  const hybridkv::testing::ScratchFolder folder;
  std::filesystem::create_directories(folder.path / "checkout");
  std::filesystem::create_directories(folder.path / "shared" / "traces");
  const std::string published = folder.file("shared/traces/made-up-for-a-test.jsonl", good(1));
  const std::string checkout = (folder.path / "checkout").string();
  const std::optional<std::string> found = find_trace("made-up-for-a-test.jsonl", checkout);
  REQUIRE(found);
  CHECK(std::filesystem::equivalent(*found, published));
  CHECK(!find_trace("not-made-up-for-a-test.jsonl", checkout));
}

TEST_CASE("edge: damaged lines stop with their number, or are counted and skipped") {
  for (const auto& [line, what] : {
           std::pair{"{\"timestamp\": 1, \"input_length\": 5\n", ":2: no JSON object"},
           std::pair{"[1, 2]\n", ":2: no JSON object"},
           std::pair{"{\"timestamp\": 1, \"output_length\": 1, \"hash_ids\": []}\n", ":2: no field input_length"},
           std::pair{"{\"timestamp\": 1, \"input_length\": 0, \"output_length\": 1, \"hash_ids\": []}\n",
                     ":2: input_length is 0"},
           std::pair{"{\"timestamp\": 1, \"input_length\": \"5\", \"output_length\": 1, \"hash_ids\": [1]}\n",
                     ":2: input_length is no integer"},
           std::pair{"{\"timestamp\": -1, \"input_length\": 5, \"output_length\": 1, \"hash_ids\": [1]}\n",
                     ":2: timestamp is -1"},
           std::pair{"{\"timestamp\": 1, \"input_length\": 5, \"output_length\": 1, \"hash_ids\": 7}\n",
                     ":2: hash_ids is missing or no list"},
           std::pair{"{\"timestamp\": 1, \"input_length\": 5, \"output_length\": 1, \"hash_ids\": [1.5]}\n",
                     ":2: hash_ids[0] is no 64-bit integer"}}) {
    const std::string content = good(1) + line + good(3);
    CHECK(message_for(content).find(what) == 0);
    CHECK(message_for(content).find("--skip-bad-lines") != std::string::npos);
    const TemporaryFile file(content);
    TraceFile trace({.path = file.path(), .skip_bad_lines = true});
    TraceBatch batch;
    REQUIRE(trace.next(batch));
    CHECK(batch.requests.size() == 2);
    CHECK(batch.requests[1].index == 1);
    CHECK(trace.bad_lines() == 1);
  }
}

TEST_CASE("edge: a trace that contradicts itself is an error, also where damaged lines are skipped") {
  const std::string line = R"({"timestamp": 1, "input_length": 600, "output_length": 1, "hash_ids": [1]})";
  for (const bool skip : {false, true})
    CHECK(message_for(good(1) + "\n" + line, skip).find(
              ":3: the trace contradicts itself: input_length 600 makes 2 ids of 512 tokens, hash_ids has 1") == 0);
}

TEST_CASE("edge: empty lines, a missing last line end, CRLF and long lines are fine") {
  std::string long_line = R"({"timestamp": 5, "input_length": 51200000, "output_length": 7, "hash_ids": [0)";
  for (int i = 1; i < 100000; ++i) long_line += ", " + std::to_string(1000000 + i);
  const TemporaryFile file("\n" + good(1) + "  \r\n" + long_line + "]}\r\n" + good(3).substr(0, good(3).size() - 1));
  const TraceBatch batch = read_all({.path = file.path()});
  REQUIRE(batch.requests.size() == 3);
  CHECK(batch.requests[1].num_runs == 100000);
}

TEST_CASE("regression: a trace without a request is refused, whatever it holds else") {
  for (const std::string content : {"", "\n\n  \r\n"}) CHECK(message_for(content) == ": the trace holds no request");
  CHECK(message_for("nothing\n{}\n", true) == ": the trace holds no request; 2 damaged lines were skipped");
}

TEST_CASE("edge: a form may be demanded, and reading may stop early") {
  CHECK_THROWS_WITH_AS(read_all({.path = invented + "mooncake.jsonl", .form = TraceForm::qwen}),
                       doctest::Contains("no field chat_id"), InputError);
  CHECK(read_all({.path = invented + "mooncake.jsonl", .max_requests = 4}).requests.size() == 4);
  TraceFile trace({.path = invented + "mooncake.jsonl"});
  TraceBatch batch;
  trace.next(batch);
  CHECK(trace.progress().requests == 11);
  CHECK(trace.progress().fraction == 1);
}
