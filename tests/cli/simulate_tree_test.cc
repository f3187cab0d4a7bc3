// `simulate` through a dual pool with a radix tree, from outside.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/require_refused.h"
#include "tests/cli/run_program.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using testing::contains;
using testing::ProgramRun;
using testing::require_refused;
using testing::run_program;
using testing::ScratchFolder;
using testing::text_of;

namespace {

const std::string pool = "simulate --token-slots 100000 --state-slots 50 ";

}  // namespace

TEST_CASE("golden: a dual pool without a plan, for people, programs and request by request") {
  const std::string copies = pool + "--prompt-tokens 1000 --requests 3 ";
  const ProgramRun text = run_program(copies);
  CHECK(text.exit_code == 0);
  CHECK(contains(text.output, "SGLang 0.5.23"));
  CHECK(contains(text.output, "extra_buffer: a state at most every 64 tokens of a prefill"));
  CHECK(contains(text.output, "64.00 %"));
  const nlohmann::json json = nlohmann::json::parse(run_program(copies + "--format json").output);
  CHECK(json["schema"] == "hybridkv-simulate/1");
  CHECK(json["release"] == "sglang-0.5.23");
  CHECK(json["caches"][0]["hit_tokens"] == 1920);
  CHECK(json["caches"][0]["per_request"][1]["hit_tokens"] == 960);
  CHECK(json["caches"][0]["per_request"][1]["chunk_sizes"] == "40");
  const ScratchFolder scratch;
  const std::string rows = (scratch.path / "rows.csv").string();
  CHECK(run_program(copies + "--per-request '" + rows + "'").exit_code == 0);
  CHECK(text_of(rows).starts_with("idx,input_length,hit_tokens,full_kv_match,branch_at,num_chunks,chunk_sizes,"
                                  "evicted_tokens,evicted_states,free_tokens_after,free_states_after,tree_tokens,"
                                  "tree_states,status\n0,1000,0,0,"));
}

TEST_CASE("law: lists make caches, and settings change what is found") {
  const auto hits = [](const std::string& flags) {
    const ProgramRun run = run_program("simulate --requests 400 --format json " + flags);
    CAPTURE(run.output);
    REQUIRE(run.exit_code == 0);
    std::vector<std::int64_t> all;
    const nlohmann::json json = nlohmann::json::parse(run.output);
    for (const nlohmann::json& cache : json["caches"])
      all.push_back(cache["hit_tokens"].get<std::int64_t>());
    return all;
  };
  const std::vector<std::int64_t> sizes = hits("--token-slots 50000,1000000 --state-slots 20,400");
  REQUIRE(sizes.size() == 4);
  CHECK(sizes[0] < sizes[3]);
  const std::int64_t attention = hits("--token-slots 1000000").front();
  CHECK(attention > sizes[3]);  // KV alone finds more than what also needs a state
  CHECK(hits("--token-slots 1000000 --state-slots 400 --radix-strategy no_buffer").front() != sizes[3]);
  CHECK(hits("--token-slots 1000000 --state-slots 400 --states-per-path 1").front() < sizes[3]);
}

TEST_CASE("golden: with --step-ahead a request that ends while its only slot is written over leaves nothing") {
  const ScratchFolder scratch;
  const auto row = [&](int output, const std::string& flags) {
    const std::string trace = scratch.file(
        "one.jsonl", R"({"timestamp": 0, "input_length": 300, "output_length": )" + std::to_string(output) +
                         R"(, "hash_ids": [1]})" "\n");
    const std::string rows = (scratch.path / "rows.csv").string();
    const ProgramRun run = run_program("simulate --token-slots 5000 --radix-strategy extra_buffer_lazy --trace '" +
                                       trace + "' --track-interval 64 --driver closed_loop --in-flight 1 --force "
                                       "--per-request '" + rows + "' " + flags);
    CAPTURE(run.output);
    REQUIRE(run.exit_code == 0);
    const std::string text = text_of(rows);
    return text.substr(text.find('\n') + 1);
  };
  // Tokens and states of the tree stand before the status. 84 tokens of output end at 383: the state of 320 waits in
  // the slot, over which the step in flight writes that of 384; what is left is the prefill's state of 256.
  CHECK(row(84, "--state-slots 3") == "0,300,0,0,,1,300,0,0,4680,1,320,2,ok\n");
  CHECK(row(84, "--state-slots 3 --step-ahead") == "0,300,0,0,,1,300,0,0,4744,2,256,1,ok\n");
  // One token less ends before that step, and with a slot more it writes to one of its own.
  CHECK(row(83, "--state-slots 3 --step-ahead") == row(83, "--state-slots 3"));
  CHECK(row(84, "--state-slots 4 --step-ahead") == row(84, "--state-slots 4"));
}

TEST_CASE("edge: what a dual pool cannot be is refused under the name of its flag") {
  require_refused("simulate --state-slots 5", "give both");
  require_refused(pool + "--block-size 16 --num-blocks 10", "give one of them");
  require_refused(pool + "--state-groups 2", "give one of them");
  require_refused(pool + "--pack 2", "--pack belongs to a plan");
  require_refused(pool + "qwen3.5-397b", "leave out the scenario");
  require_refused(pool + "--mode align", "belongs to a plan");
  require_refused("simulate --token-slots 0 --state-slots 5", "--token-slots");
  require_refused(pool + "--page-size 16 --radix-strategy no_buffer", "--page-size");
  require_refused(pool + "--track-interval 0", "--track-interval");
  require_refused(pool + "--radix-strategy extra_bufer", "did you mean 'extra_buffer'");
  require_refused(pool + "--driver open-loop", "in the order of the trace");
  require_refused(pool + "--token-slots 200 --page-size 64 --per-request x.csv --token-slots 1,2", "here are");
}

TEST_CASE("edge: settings of a described dual pool are refused where a plan or blocks are replayed") {
  const std::string planned =
      "simulate qwen3.5-397b --pack 1 --engine sglang-0.5.23 --prompt-tokens 1000 --requests 2 ";
  require_refused(planned + "--page-size 16", "in a plan it is --set engine.page_size=TOKENS");
  require_refused(planned + "--radix-strategy no_buffer", "--set engine.mamba_radix_cache_strategy=NAME");
  require_refused(planned + "--track-interval 128", "--set engine.mamba_track_interval=TOKENS");
  require_refused(planned + "--no-overlap", "--set engine.overlap_schedule=false");
  for (const std::string flag : {"--step-ahead", "--scan-chunk 128", "--states-per-path 2"})
    require_refused(planned + flag, "belongs to --token-slots, a plan has no such setting");
  require_refused("simulate --block-size 16 --num-blocks 10 --step-ahead", "not to --block-size");
  // What the first message names is taken.
  CHECK(run_program(planned + "--set engine.page_size=16").exit_code == 0);
}

TEST_CASE("golden: --losses of a radix tree, in text, JSON and the line of each request") {
  // A copy of 1,000 tokens finds the state at 960; the 39 behind it have none.
  const std::string copies = pool + "--prompt-tokens 1000 --requests 3 --losses ";
  CHECK(contains(run_program(copies).output, "- no state was ever made there                         78   2.60 %"));
  const nlohmann::json json = nlohmann::json::parse(run_program(copies + "--format json").output);
  const nlohmann::json& losses = json["caches"][0]["losses"];
  CHECK(losses["token_exact_tokens"] == 1998);
  CHECK(losses["found_tokens"] == 1920);
  CHECK(losses["lost"]["no_state"] == 78);
  const ScratchFolder scratch;
  const std::string rows = (scratch.path / "rows.csv").string();
  CHECK(run_program(copies + "--per-request '" + rows + "'").exit_code == 0);
  CHECK(contains(text_of(rows), ",tree_states,status,token_exact_tokens,lost_block_tail,"));
  CHECK(contains(text_of(rows), ",ok,999,0,0,39,0,0,0,0,0,0\n"));
}
