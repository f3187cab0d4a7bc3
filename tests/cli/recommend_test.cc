// `recommend` from outside: its numbers against those that plan and simulate print.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/require_refused.h"
#include "tests/cli/run_program.h"
#include "test_paths.h"

using namespace hybridkv;
using testing::contains;
using testing::ProgramRun;
using testing::require_refused;
using testing::run_program;
using nlohmann::json;

namespace {

json advice(const std::string& arguments) {
  const ProgramRun run = run_program(arguments + " --format json");
  CAPTURE(arguments);
  CAPTURE(run.output);
  REQUIRE(run.exit_code == 0);
  return json::parse(run.output);
}

/// A printed command without the name of the program.
std::string arguments_of(const json& command) {
  return command.get<std::string>().substr(std::string("hybridkv ").size());
}

/// The pick's row against what its two printed commands say.
void require_same_numbers(const std::string& arguments) {
  CAPTURE(arguments);
  const json result = advice("recommend " + arguments);
  const json& pick = result["candidates"][result["pick"].get<std::size_t>()];
  REQUIRE(result["commands"].size() == 2);
  const json plan = advice(arguments_of(result["commands"][0]))["plans"][0];
  json capacity;
  for (const json& one : plan["capacity"])
    if (one["max_model_len"] == result["at_length"]) capacity = one;
  CHECK(pick["bytes_per_request"] == capacity["bytes_per_request"]);
  CHECK(pick["blocks_per_request"] == capacity["blocks_per_request"]);
  CHECK(pick["usable_concurrency"] == capacity["usable_concurrency"]);
  CHECK(pick["max_concurrency"] == capacity["max_concurrency"]);
  CHECK(pick["num_blocks"] == plan["num_blocks"]);
  CHECK(pick["page_bytes"] == plan["page_bytes"]);
  const json simulated = advice(arguments_of(result["commands"][1]) + " --upper-bounds");
  const json& cache = simulated["caches"][0];
  CHECK(pick["hit_tokens"] == cache["hit_tokens"]);
  CHECK(pick["hit_rate"] == cache["hit_rate"]);
  CHECK(pick["block_size_tokens"] == cache["block_size_tokens"]);
  CHECK(pick["match_unit_tokens"] == cache["match_unit_tokens"]);
  CHECK(pick["evictions"] == cache["evictions"]);
  CHECK(pick["copied_states"] == cache["copied_states"]);
  CHECK(result["workload"]["requests"] == simulated["requests"]);
  CHECK(result["workload"]["too_long_requests"] == cache["too_long"]);
  CHECK(result["workload"]["prompt_tokens"] == cache["prompt_tokens"]);
  CHECK(pick["reprefilled_tokens"].get<std::int64_t>() ==
        cache["token_exact_hit_tokens"].get<std::int64_t>() - cache["hit_tokens"].get<std::int64_t>() +
            cache["reprefilled_tokens"].get<std::int64_t>());
}

}  // namespace

TEST_CASE("golden: numbers of the pick are those that plan and simulate print") {
  const std::string small = "qwen3.5-397b --packs 1..5 --modes align,none ";
  require_same_numbers(small + "--requests 500");
  require_same_numbers(small + "--prompt-tokens 370");
  require_same_numbers(small + "--prompt-tokens 3000 --shared-prefix-tokens 1500 --requests 40");
  require_same_numbers(small + "--requests 500 --min-concurrency 150 --at-length 8192");
  require_same_numbers(small + "--requests 200 --driver closed-loop --in-flight 16");
  require_same_numbers(small + "--block-sizes 256 --requests 300 --seed 7 --memory 20GiB");
  require_same_numbers("--model Nemotron-3-Nano-30B-A3B --memory 20GiB --max-model-len 131072 --requests 300 "
                       "--trace '" HYBRIDKV_TEST_DATA "/simulator/invented/mooncake.jsonl'");
}

TEST_CASE("golden: the pick of the main scenario divides the 15 layers, and 3 and 5 are told to beat 4") {
  const json result = advice("recommend qwen3.5-397b --requests 500");
  const json& candidates = result["candidates"];
  const json& pick = candidates[result["pick"].get<std::size_t>()];
  CHECK(15 % pick["attention_pack_size"].get<std::int64_t>() == 0);
  CHECK(pick["on_front"] == true);
  for (const json& other : candidates) {
    const bool beats = other["reprefilled_tokens"] <= pick["reprefilled_tokens"] &&
                       other["bytes_per_request"] <= pick["bytes_per_request"] &&
                       other["usable_concurrency"] >= pick["usable_concurrency"] &&
                       (other["reprefilled_tokens"] < pick["reprefilled_tokens"] ||
                        other["bytes_per_request"] < pick["bytes_per_request"] ||
                        other["usable_concurrency"] > pick["usable_concurrency"]);
    CHECK_FALSE(beats);
  }
  const std::string text = result["reasons"]["packs"].dump();
  CHECK(contains(text, "N = 3, 5, 15 divide the 15 attention layers"));
  CHECK(contains(text, "N = 4: the last of its 4 packs lacks 1 of 4 layers"));
  CHECK(contains(text, "N = 3: block 704, 670.3 MiB a request"));
  CHECK(contains(text, "N = 5: block 432, 670.8 MiB a request"));
  CHECK(contains(text, "finer and less waste, better than 4 in all three objectives"));
}

TEST_CASE("golden: 370-token prompts: the default can never hit, and what would") {
  const json result = advice("recommend qwen3.5-397b --prompt-tokens 370");
  const std::string text = result["reasons"]["never_hits"].dump();
  CAPTURE(text);
  CHECK(contains(text, "The default block of 2,096 tokens can never hit on this trace: its longest prompt has 370"));
  CHECK(contains(text, "N = 6, mode align, block 352: 105,248 of 111,000 prompt tokens hit (94.82 %)"));
  CHECK(contains(text, "N = 1, mode align, block 2,096, match unit 16: 110,032 of 111,000 prompt tokens hit"));
  CHECK(contains(result["settings"].dump(), "--prefix-match-unit 16"));
  CHECK(result["search"]["exhaustive"] == true);
  // With enough prompt there is no such sentence.
  CHECK_FALSE(contains(run_program("recommend qwen3.5-397b --packs 1,3 --prompt-tokens 3000").output, "can never hit"));
}

TEST_CASE("golden: a pick that cannot keep up with an open loop says so, as text and in JSON") {
  const std::string crowd = "recommend qwen3.5-397b --packs 1,3 --modes align --match-units block --retention all "
                            "--block-sizes 0 --requests 200 --set simulate.max_num_seqs=8 --driver ";
  const json late = advice(crowd + "open_loop");
  CHECK(late["candidates"][late["pick"].get<std::size_t>()]["overloaded"] == true);
  REQUIRE(late["reasons"]["overload"].size() == 1);
  const std::string sentence = late["reasons"]["overload"][0];
  CAPTURE(sentence);
  CHECK(sentence.starts_with("The pick is overloaded: requests come faster than they are served, up to "));
  CHECK(contains(sentence, " wait where 8 run at most; its hits are those of an engine that falls behind."));
  CHECK(contains(run_program(crowd + "open_loop").output, "! The pick is overloaded: requests come faster"));
  const json closed = advice(crowd + "closed_loop");
  CHECK(closed["candidates"][closed["pick"].get<std::size_t>()]["overloaded"].is_null());
  CHECK(closed["reasons"]["overload"].empty());
}

TEST_CASE("edge: limits, lists and traffic that cannot be, each with its exit code and a way out") {
  require_refused("recommend qwen3.5-397b --min-concurrency 80 --prompt-tokens 370", 2,
                  "the most is 71.12 (N = 15, block 144, mode none); it takes 48308797440 bytes (44.99 GiB) of memory, "
                  "or requests of at most");
  require_refused("recommend qwen3.5-397b --memory 100MiB --prompt-tokens 370", 2,
                  "--memory 100MiB: engine.memory: 104857600 bytes");
  require_refused("recommend qwen3.5-397b --modes never", 2,
                  "--modes: 'never' is not allowed; take one of none, align, all");
  require_refused("recommend qwen3.5-397b --match-units fine", 2, "--match-units fine: no number of tokens");
  require_refused("recommend qwen3.5-397b --shared-prefix-tokens 5", 2, "needs --prompt-tokens");
  require_refused("recommend qwen3.5-397b --prompt-tokens 5 --shared-prefix-tokens 6", 2, "must be 0 to the 5");
  require_refused("recommend qwen3.5-397b --prompt-tokens 5 --requests none", 2, "whole number of requests");
  require_refused("recommend qwen3.5-397b --prompt-tokens 5 --trace x.jsonl", 2, "give one of the two");
  require_refused("recommend qwen3.5-397b --trace missing.jsonl", 2, "missing.jsonl");
  require_refused("recommend qwen3.5-397b --min-kernel-block 64 --kernel-blocks 16,32 --prompt-tokens 370", 2,
                  "the largest is 32");
  require_refused("recommend qwen3.5-397b --set engine.num_blocks=500", 2, "no common limit");
}

TEST_CASE("golden: the engine's own command line stands beside the settings, in every form") {
  const std::string small = "recommend qwen3.5-397b --packs 1,3 --modes align --match-units block --retention all "
                            "--block-sizes 0 --requests 100 ";
  const json result = advice(small);
  CHECK(result["serve"]["command"] == "");
  CHECK(result["serve"]["beside"][0] ==
        "No release of vLLM has more than one attention layer a page; a build with PR 35703 is started with: "
        "vllm serve Qwen/Qwen3.5-397B-A17B --tensor-parallel-size 2 --max-model-len 32768 "
        "--enable-prefix-caching --mamba-cache-mode align --prefix-cache-retention-interval 704 "
        "--kv-cache-memory-bytes 42949672960 --kv-cache-dtype bfloat16 --mamba-ssm-cache-dtype float32 "
        "--max-num-batched-tokens 8192 --attn-pack-size 3");
  CHECK(contains(result["serve_without_packing"]["command"].dump(), "--prefix-cache-retention-interval 2096 "));
  CHECK(result["serve_without_packing"]["beside"].empty());
  const std::string text = run_program(small).output;
  CHECK(contains(text, "  vllm serve Qwen/Qwen3.5-397B-A17B --tensor-parallel-size 2 --max-model-len 32768 \\\n"));
  CHECK(contains(text, "- No release of vLLM has more than one attention layer a page; a build with PR 35703"));
}

TEST_CASE("golden: under SGLang the pick's numbers are those that plan and simulate print") {
  for (const std::string arguments :
       {"qwen3.5-397b --engine sglang-0.5.23 --requests 300",
        "qwen3.5-397b --engine sglang-0.5.23 --requests 60 --driver closed-loop --in-flight 1 --memory 12GiB",
        "qwen3.5-397b --engine sglang-0.5.23 --prompt-tokens 5000 --min-concurrency 60 --at-length 8192",
        "--model Nemotron-3-Nano-30B-A3B --engine sglang-0.5.23 --memory 20GiB --max-model-len 32k,8k "
        "--requests 100"}) {
    CAPTURE(arguments);
    const json result = advice("recommend " + arguments);
    const json& pick = result["candidates"][result["pick"].get<std::size_t>()];
    CHECK(result["schema"] == "hybridkv-recommend/1");
    CHECK(contains(result["serve"]["command"].dump(), "python -m sglang.launch_server --model-path "));
    for (const json& setting : result["settings"])
      CHECK(contains(result["serve"]["command"].dump(), setting["flag"].get<std::string>()));
    const json plan = advice(arguments_of(result["commands"][0]))["plans"][0];
    for (const json& capacity : plan["capacity"])
      if (capacity["max_model_len"] == result["at_length"])
        CHECK(pick["bytes_per_request"] == capacity["bytes_per_request"]);
    const json simulated = advice(arguments_of(result["commands"][1]) + " --upper-bounds")["caches"][0];
    CHECK(pick["hit_tokens"] == simulated["hit_tokens"]);
    CHECK(pick["state_slots"] == simulated["state_slots"]);
    CHECK(pick["token_slots"] == simulated["token_slots"]);
    CHECK(pick["reprefilled_tokens"].get<std::int64_t>() ==
          simulated["token_exact_hit_tokens"].get<std::int64_t>() - simulated["hit_tokens"].get<std::int64_t>());
  }
}

TEST_CASE("golden: engines whose rules were read are searched over modes and blocks, and are told no flag of another") {
  for (const std::string engine : {"jenga", "compact-slots"}) {
    CAPTURE(engine);
    const std::string asked = "--model Qwen3.5-4B --memory 6GiB --max-model-len 16k --engine " + engine + " ";
    const json result = advice("recommend " + asked + "--requests 200");
    const json& pick = result["candidates"][result["pick"].get<std::size_t>()];
    const json plan = advice(arguments_of(result["commands"][0]))["plans"][0];
    CHECK(pick["bytes_per_request"] == plan["capacity"][0]["bytes_per_request"]);
    CHECK(pick["usable_concurrency"] == plan["capacity"][0]["usable_concurrency"]);
    const json cache = advice(arguments_of(result["commands"][1]))["caches"][0];
    CHECK(pick["hit_tokens"] == cache["hit_tokens"]);
    CHECK(pick["block_size_tokens"] == cache["block_size_tokens"]);
    CHECK(result["serve"]["command"] == "");
    for (const json& setting : result["settings"]) {
      CHECK(setting["flag"] == "");
      CHECK((setting["key"] == "engine.cache_mode" || setting["key"] == "engine.block_size_tokens"));
    }
    for (const json& candidate : result["candidates"]) CHECK(candidate["attention_pack_size"] == 1);
    const std::string text = run_program("recommend " + asked + "--requests 50").output;
    CHECK(contains(text, "read, not run"));
    CHECK(!contains(text, "--enable-prefix-caching"));
    CHECK(!contains(text, "no flag\n"));
  }
}

TEST_CASE("golden: settings of a server with slots are searched, and the pick's commands say its numbers again") {
  const std::string asked = "--model Qwen3.5-4B --memory 6GiB --max-model-len 16k --engine llama.cpp ";
  const json result = advice("recommend " + asked + "--requests 200");
  const json& pick = result["candidates"][result["pick"].get<std::size_t>()];
  const json plan = advice(arguments_of(result["commands"][0]))["plans"][0];
  CHECK(pick["bytes_per_request"] == plan["capacity"][0]["bytes_per_request"]);
  const json cache = advice(arguments_of(result["commands"][1]))["caches"][0];
  CHECK(pick["hit_tokens"] == cache["hit_tokens"]);
  CHECK(result["search"]["exhaustive"] == true);
  const std::string command = result["serve"]["command"];
  CHECK(contains(command, fmt::format("llama-server --model Qwen3.5-4B.gguf --ctx-size {} --kv-unified --parallel {} ",
                                      pick["cells"].get<std::int64_t>(), pick["slots"].get<std::int64_t>())));
  for (const json& setting : result["settings"]) CHECK(contains(command, setting["flag"].get<std::string>()));
  const json few = advice("recommend " + asked + "--requests 50 --slots 2,8 --slot-checkpoints 0,16 "
                          "--checkpoint-steps 512 --cache-rams 8192");
  // Beside the default, which is not in the space.
  CHECK(few["candidates"].size() == 5);
  CHECK(!contains(run_program("recommend " + asked + "--requests 50").output, "read, not run"));
  require_refused("recommend " + asked + "--modes align --packs 2 --search refined", 2,
                  "--packs, --modes, --search: llama.cpp has no such settings to search; its space is --slots, "
                  "--slot-checkpoints, --checkpoint-steps, --cache-rams, and is searched whole");
  require_refused("recommend " + asked + "--driver closed-loop --requests 50", 2, "one prompt at a time");
  require_refused("recommend qwen3.5-397b --slots 2 --checkpoint-steps 0 --cache-rams 0", 2,
                  "--slots, --checkpoint-steps, --cache-rams: vLLM main of June 2026");
}

TEST_CASE("golden: what llama-server is told of the host's memory fits it, and says the same numbers") {
  const std::string asked =
      "--model Qwen3.5-4B --memory 6GiB --max-model-len 16k --engine llama.cpp --set simulate.host_memory=6GiB ";
  const json result = advice("recommend " + asked + "--requests 200");
  const json& pick = result["candidates"][result["pick"].get<std::size_t>()];
  CHECK(pick["host_bytes"].get<std::int64_t>() + pick["cache_ram"].get<std::int64_t>() * 1024 * 1024 <=
        std::int64_t{6} << 30);
  CHECK(contains(result["serve"]["command"].get<std::string>(),
                 fmt::format("--cache-ram {}", pick["cache_ram"].get<std::int64_t>())));
  const json cache = advice(arguments_of(result["commands"][1]))["caches"][0];
  CHECK(pick["hit_tokens"] == cache["hit_tokens"]);
  const std::string text = run_program("recommend " + asked + "--requests 200 --quiet").output;
  CHECK(contains(text, "within 6 GiB\n(simulate.host_memory)"));
  CHECK(!contains(text, "simulate.host_memory is left out"));
  require_refused("simulate " + asked + "--requests 50", 2, "engine.ctx_checkpoints and engine.cache_ram say what");
}

TEST_CASE("golden: where snapshots are taken is searched, and the pick's commands say its numbers again") {
  const std::string asked = "--model Qwen3.5-4B --memory 6GiB --max-model-len 16k --engine tensorrt-llm "
                            "--set engine.max_batch_size=8 ";
  const json result = advice("recommend " + asked + "--requests 100");
  const json& pick = result["candidates"][result["pick"].get<std::size_t>()];
  const json plan = advice(arguments_of(result["commands"][0]))["plans"][0];
  CHECK(pick["bytes_per_request"] == plan["capacity"][0]["bytes_per_request"]);
  const json cache = advice(arguments_of(result["commands"][1]))["caches"][0];
  CHECK(pick["hit_tokens"] == cache["hit_tokens"]);
  CHECK(pick["hit_tokens"].get<std::int64_t>() > 0);
  CHECK(result["search"]["planned"] == 4 * 4 * 4);
  const std::string command = result["serve"]["command"];
  CHECK(contains(command, " > hybridkv.yaml && trtllm-serve Qwen/Qwen3.5-4B "));
  for (const json& setting : result["settings"]) CHECK(contains(command, setting["flag"].get<std::string>()));
  const json few = advice("recommend " + asked + "--requests 50 --snapshots end,end+branch --snapshot-intervals 0 "
                          "--ratios 0.5,1");
  CHECK(few["candidates"].size() == 5);  // beside the default, which is not in the space
  CHECK(contains(run_program("recommend " + asked + "--requests 50").output, "snapshots: "));
  require_refused("recommend " + asked + "--slots 2", 2,
                  "--slots: TensorRT-LLM has no such settings to search; its space is --snapshots, "
                  "--snapshot-intervals, --ratios, and is searched whole");
  require_refused("recommend --model Qwen3.5-4B --memory 6GiB --max-model-len 16k --engine tensorrt-llm", 2,
                  "engine.max_batch_size, 2048 by default");
}

TEST_CASE("edge: flags of another engine's space are refused at once, and every form is written under SGLang") {
  const std::string sglang = "recommend qwen3.5-397b --engine sglang-0.5.23 --requests 50 ";
  require_refused(sglang + "--packs 1..3 --modes all --match-units 16 --retention all --block-sizes 64", 2,
                  "--packs, --block-sizes, --modes all, --match-units, --retention: SGLang 0.5.23 has no such");
  require_refused(sglang + "--search refined --kernel-blocks 64", 2, "--kernel-blocks, --search: SGLang 0.5.23 has no");
  require_refused("recommend qwen3.5-397b --strategies no_buffer --ratios 1 --page-sizes 1 --track-intervals 64", 2,
                  "--strategies, --ratios, --page-sizes, --track-intervals: vLLM main of June 2026");
  require_refused("recommend qwen3.5-397b --engine vllm-0.33 --pack 1 --modes all --ratios 1", 2,
                  "--modes all, --ratios: vLLM 0.33.0 has no such settings to search; its space is --packs, "
                  "--block-sizes, --modes none,align, --match-units, --retention");
  require_refused("recommend qwen3.5-397b --engine jenga --packs 1,2 --retention last", 2,
                  "--retention: Jenga (two-level pages) has no such settings to search; its space is --block-sizes, "
                  "--modes");
  require_refused(sglang + "--ratios much", 2, "--ratios much: is no number");
  require_refused(sglang + "--ratios 0", 2, "engine.state_memory_ratio: is above 0");
  require_refused(sglang + "--strategies lazy", 2, "'lazy' is not allowed");
  require_refused(sglang + "--driver open-loop", 2, "in the order of the trace");
  const json result = advice(sglang + "--packs 1 --modes align --strategies extra_buffer,no_buffer --ratios 0.5,0.9 "
                                       "--page-sizes 1");
  CHECK(result["candidates"].size() == 4);
  const std::string csv = run_program(sglang + "--format csv").output;
  CHECK(csv.starts_with("cache_mode,strategy,state_memory_ratio,"));
  const std::string markdown = run_program(sglang + "--format markdown").output;
  CHECK(contains(markdown, "## Pareto front"));
  CHECK(contains(markdown, "--mamba-full-memory-ratio"));
  CHECK(run_program(sglang).output == run_program(sglang).output);
}

TEST_CASE("edge: help has examples, every format works, csv has a row per candidate") {
  CHECK(contains(run_program("recommend --help").output, "hybridkv recommend qwen3.5-397b --prompt-tokens 370"));
  const std::string small = "recommend qwen3.5-397b --packs 1,3,4,5 --modes align --requests 100";
  const json result = advice(small);
  CHECK(result["schema"] == "hybridkv-recommend/1");
  CHECK(result["search"]["exhaustive"] == true);
  const std::string csv = run_program(small + " --format csv").output;
  CHECK(csv.starts_with("attention_pack_size,cache_mode,user_block_size,"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + static_cast<std::ptrdiff_t>(result["candidates"].size()));
  const std::string markdown = run_program(small + " --format markdown").output;
  CHECK(contains(markdown, "## Pareto front"));
  CHECK(contains(markdown, "| --enable-prefix-caching"));
  CHECK(run_program(small).output == run_program(small).output);
}

TEST_CASE("edge: memory of the host is left out of a search, which says so, of packs and of a radix tree") {
  const std::string note = "hybridkv: simulate.host_memory is left out: settings are weighed by the pools alone\n";
  for (const char* few : {"--packs 1 --modes align", "--engine sglang-0.5.23 --strategies no_buffer --ratios 0.9"}) {
    const std::string question = std::string("recommend qwen3.5-397b --requests 40 ") + few;
    const ProgramRun with = run_program(question + " --set simulate.host_memory=1GiB"), without = run_program(question);
    CAPTURE(few);
    CAPTURE(with.output);
    CHECK(with.exit_code == 0);
    CHECK(with.output.starts_with(note));
    CHECK_FALSE(contains(without.output, "host_memory"));
  }
}

TEST_CASE("edge: kernel blocks of the backend are kept to") {
  const json result = advice("recommend qwen3.5-397b --kernel-blocks 64,128 --min-kernel-block 128 --requests 100");
  for (const std::size_t at : result["front"].get<std::vector<std::size_t>>())
    CHECK(result["candidates"][at]["kernel_block_size_tokens"].get<std::int64_t>() == 128);
}

TEST_CASE("golden: of a trace's file the reasons say where most of the tokens of the pick went") {
  const std::string sample = "recommend qwen3.5-397b --packs 1,5 --modes align --trace '" HYBRIDKV_SOURCE_DIR
                             "/docs/samples/trace.jsonl'";
  const std::string costs = advice(sample)["reasons"]["costs"].dump();
  CAPTURE(costs);
  CHECK(contains(costs, "The pick: "));
  CHECK(contains(costs, " % of the prompt tokens are computed again although an earlier prompt began with them"));
}
