// What the server of llama.cpp b11312 did, request by request and event by event.
#include <doctest/doctest.h>

#include "simulator/slots/draft_rows.h"
#include "test_paths.h"
#include "tests/simulator/slots/llama_records.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// The records of the folder named by the environment, else those that lie with the tests.
std::vector<std::filesystem::path> record_files() {
  const char* folder = std::getenv("HYBRIDKV_CASES_DIR");
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(
           folder ? std::string(folder) + "/llama.cpp" : std::string(HYBRIDKV_TEST_DATA "/llama.cpp")))
    if (entry.path().filename().string().starts_with("replay_")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("golden: slots, tokens and every event with its numbers of the server of llama.cpp b11312") {
  const std::vector<std::filesystem::path> files = record_files();
  CHECK(files.size() >= 14);
  for (const std::filesystem::path& file : files) {
    CAPTURE(file.string());
    CHECK(difference_in_records(file) == "");
  }
}

TEST_CASE("golden: a checkpoint that outlives its tokens is restored for others, as the server does it") {
  std::ifstream file(HYBRIDKV_TEST_DATA "/llama.cpp/stale.jsonl");
  REQUIRE(file.is_open());
  std::size_t stale = 0;
  for (std::string line; std::getline(file, line);) {
    const json record = json::parse(line);
    CAPTURE(record["model"].dump());
    SlotReplay replay({.slots = 1, .cells = 2048, .batch_tokens = 128, .step_tokens = 32, .saved_bytes = 0});
    const RecordedPrompts prompts;
    bool restored_stale = false;
    for (const json& request : record["requests"]) {
      const std::vector<TokenRun> prompt = runs_of_tokens(prompts.tokens_of(request["prompt"]));
      const SlotRecord answer = replay.run({.input_length = std::ssize(prompt)}, prompt,
                                           {.reuses = request["opts"].value("cache_prompt", true)});
      CHECK(answer.hit_tokens == request["cache_n"].get<std::int64_t>());
      restored_stale = restored_stale || answer.restored_stale;
    }
    CHECK(restored_stale == (record["case"] == "stale"));
    stale += restored_stale;
  }
  CHECK(stale == 2);
}

TEST_CASE("golden: the last tokens are taken back once a step, as many as there are rows, and no further than it") {
  std::ifstream file(HYBRIDKV_TEST_DATA "/llama.cpp/rollback.jsonl");
  REQUIRE(file.is_open());
  std::size_t done = 0, wrong = 0;
  for (std::string line; std::getline(file, line);) {
    const json record = json::parse(line);
    CAPTURE(line);
    const std::int64_t back = record["back"];
    DraftRows rows{.rows = record["rows"]};
    rows.step(record["last_step"]);
    CHECK(rows.take_back(back) == record["done"].get<bool>());
    if (!record["done"].get<bool>()) continue;
    ++done;
    if (record["again"] == 1) CHECK(rows.take_back(1) == record["again_done"].get<bool>());
    const bool differs = record["largest_logit_difference"].get<double>() != 0;
    wrong += differs;
    CHECK(differs != rows.is_right(back));
  }
  CHECK(done > 0);
  CHECK(wrong > 0);
}
