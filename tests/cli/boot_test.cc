// `hybridkv boot`: what it says, what it refuses, and commands to try that start.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "test_paths.h"
#include "tests/cli/require_refused.h"

using namespace hybridkv::testing;

namespace {

const std::string published_failure = "boot --model Qwen3.8-Flash-Next --tp 2 --available-memory 12.20 "
                                      "--max-model-len 262144 --max-num-seqs 1024";

/// The exit code says what the answer says: 3 where there is not enough memory to boot.
nlohmann::json json_of(const std::string& arguments) {
  const ProgramRun run = run_program(arguments + " --format json");
  CAPTURE(arguments);
  CAPTURE(run.output);
  const nlohmann::json json = nlohmann::json::parse(run.output);
  REQUIRE(run.exit_code == (json["result"] == "boots" ? 0 : 3));
  return json;
}

/// Every command to try starts.
void require_tries(const nlohmann::json& answer) {
  REQUIRE_FALSE(answer["try"].empty());
  for (const nlohmann::json& one : answer["try"]) {
    const std::string command = one["command"].get<std::string>();
    REQUIRE(command.starts_with("hybridkv boot"));
    CHECK(json_of(command.substr(std::string("hybridkv ").size()))["result"] == "boots");
  }
}

}  // namespace

TEST_CASE("golden: the JSON of a start, and of the published failure") {
  const nlohmann::json boots =
      json_of("boot --model Qwen3.5-397B-A17B --tp 2 --max-model-len 32k --available-memory 40GiB");
  CHECK(boots["schema"] == "hybridkv-boot/1");
  CHECK(boots["result"] == "boots");
  CHECK(boots["release"] == "vllm-0.33");
  CHECK(boots["backend_profile"] == "sm90");
  CHECK(boots["figures"]["num_blocks"] == 1323);
  CHECK(boots["figures"]["kv_cache_tokens"] == 1734082);
  CHECK(boots["fails_first"].is_null());
  CHECK(boots["lines"].size() == 4);
  CHECK(boots["estimates"][0].get<std::string>().find("the blocks may be 1,323 to 1,324") != std::string::npos);
  const nlohmann::json fails = json_of(published_failure);
  CHECK(fails["result"] == "does_not_boot");
  CHECK(fails["fails_first"] == "running_requests");
  CHECK(fails["figures"]["state_blocks"] == 626);
  require_tries(fails);
}

TEST_CASE("law: what boot says to try starts, whatever fails") {
  require_tries(json_of("boot --model Qwen3.5-4B --max-model-len 256k --memory 1GiB"));
  require_tries(json_of("boot qwen3.5-397b --set engine.memory=2GiB --max-model-len 1M"));
  require_tries(json_of("boot --model Qwen3.5-27B --max-model-len 128k --gpu H100 --weights 51.5GiB"));
}

TEST_CASE("golden: every format, and the engine of June") {
  for (const char* format : {"table", "markdown", "csv"})
    CHECK(run_program(published_failure + " --format " + format).exit_code == 3);
  CHECK(contains(run_program(published_failure).output, "RESULT: Qwen3.8-Flash-Next does not boot"));
  const nlohmann::json june = json_of("boot --model Qwen3.5-397B-A17B --tp 2 --mode align --max-model-len 32k "
                                      "--available-memory 40GiB --engine vllm-2026-06");
  CHECK(june["figures"]["block_size_tokens"] == 2096);
  CHECK(june["figures"]["kv_cache_tokens"] == 1986932);
}

TEST_CASE("edge: what boot cannot answer is refused with a way out") {
  const std::string model = "boot --model Qwen3.5-27B --max-model-len 32k ";
  require_refused(model + "--gpu H10 --weights 27GiB", "did you mean 'H100'?");
  require_refused("boot --model '" HYBRIDKV_SOURCE_DIR "/tests/data/scenarios/tiny_model.yaml' --max-model-len 1k "
                  "--gpu H100",
                  "--gpu needs --weights SIZE, what the weights take on one rank: the file of tiny-hybrid states no "
                  "number of parameters");
  require_refused(model + "--gpu H100 --weights 27GiB --available-memory 40GiB", "leave one of them out");
  require_refused(model + "--gpu H100 --weights heavy", "write it like 26.5GiB");
  require_refused(model + "--gpu H100 --weights 27GiB --utilization 90", "is no share of the GPU");
  require_refused(model + "--weights 27GiB", "belongs to --gpu NAME or --gpu-memory SIZE");
  require_refused(model + "--gpu-memory much", "--gpu-memory much");
  require_refused(model + "--available-memory 40GiB --engine vllm-0.34", "vllm-0.33");
  require_refused(model + "--available-memory 40GiB --max-num-seqs 0", "--max-num-seqs");
  require_refused(model + "--available-memory 40GiB --memory 20GiB",
                  "--available-memory gives the memory of the cache, and so does --memory; leave one of them out");
  require_refused(model + "--available-memory 40GiB --set engine.memory=20GiB", "so does --set engine.memory");
  require_refused(model + "--memory 40GiB --pack 3,1", "--pack 3,1: engine.attention_pack_size: 2 values where one is "
                                                       "answered; give one of 3, 1");
  require_refused("boot --model Qwen3.5-27B --memory 40GiB --max-model-len 8k,32k", "give one of 8192, 32768");
  require_refused("transfer qwen3.5-397b --pack 3,1 --tokens 1k", "give one of 3, 1");
  require_refused(model, "--gpu NAME is missing");
  require_refused("boot", "nothing to plan");
  require_refused("boost", "did you mean 'boot'?");
}

TEST_CASE("golden: weights are counted where nobody measured them, and measured ones win") {
  const std::string command = "boot --model Qwen3.5-27B --max-model-len 32k --gpu H100";
  const nlohmann::json counted = json_of(command);
  CHECK(counted["gpu"]["weights_are_counted"] == true);
  CHECK(counted["gpu"]["weights_bytes"] == 54'713'457'120);  // 50.96 GiB
  CHECK(contains(run_program(command).output, "the weights are counted: 27.4 B parameters in bf16; --weights"));
  const nlohmann::json split = json_of(command + " --tp 4");
  CHECK(split["gpu"]["weights_bytes"] < counted["gpu"]["weights_bytes"].get<double>() / 4 * 1.01);
  const nlohmann::json measured = json_of(command + " --weights 51.5GiB");
  CHECK(measured["gpu"]["weights_are_counted"] == false);
  CHECK(measured["gpu"]["weights_bytes"] == 55'297'703'936);
}

TEST_CASE("edge: what a start does not have is not said of it") {
  const nlohmann::json none_left = json_of("boot --model Qwen3.5-27B --max-model-len 32k --gpu H100 --weights 150GiB");
  CHECK(none_left["figures"]["memory_bytes"] == none_left["gpu"]["available_bytes"]);
  CHECK(none_left["figures"]["memory_bytes"] < 0);
  const std::string packed = run_program("boot qwen3.5-397b --pack 3").output;
  CHECK(contains(packed, "An engine with PR 35703 would print"));
  CHECK(contains(packed, "no release packs attention layers: N = 3 needs PR 35703"));
  CHECK(contains(run_program("boot --help").output, "else vllm-0.33)"));
}

TEST_CASE("golden: a start with a warning has commands without it, fewer requests first") {
  const nlohmann::json boots = json_of("boot --model Qwen3.5-4B --memory 20G --max-model-len 32k");
  REQUIRE(boots["warnings"].size() == 1);
  CHECK(boots["try"][0]["command"] == "hybridkv boot --model Qwen3.5-4B --memory 20G --max-model-len 32k "
                                      "--max-num-seqs 113");
  CHECK(json_of("boot --model Qwen3.5-4B --memory 20G --max-model-len 32k --max-num-seqs 113")["warnings"].empty());
  CHECK(contains(run_program("boot --model Qwen3.5-4B --memory 20G --max-model-len 32k").output,
                 "These start without the warning:"));
}

TEST_CASE("law: what is printed to try starts, of every shipped model, with a warning less or where nothing did") {
  int tried = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HYBRIDKV_SOURCE_DIR "/scenarios/models")) {
    if (entry.path().extension() != ".yaml") continue;
    for (const char* release : {"vllm-2026-06", "vllm-0.33"})
      for (const char* memory : {"'1.5 GiB'", "24G"}) {
        const std::string question = std::string("boot --model ") + entry.path().stem().string() + " --engine " +
                                     release + " --max-model-len 128k --memory " + memory;
        if (run_program(question).exit_code == 2) continue;  // a model that the release does not serve
        const nlohmann::json asked = json_of(question);
        for (const nlohmann::json& one : asked["try"]) {
          const nlohmann::json other = json_of(one["command"].get<std::string>().substr(9));
          CHECK(other["result"] == "boots");
          if (asked["result"] == "boots") CHECK(other["warnings"].size() < asked["warnings"].size());
          ++tried;
        }
      }
  }
  CHECK(tried > 50);
}

TEST_CASE("edge: a scenario on standard input") {
  const std::string scenario = "'model: Qwen3.5-4B\nengine: {memory: 20 GiB}\nlimits: {max_model_len: 32768}\n'";
  const ProgramRun run = run_shell("printf " + scenario + " | \"$HYBRIDKV\" boot -");
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "RESULT: Qwen3.5-4B boots by the rules of vllm-0.33, sm90"));
}

TEST_CASE("golden: where it boots, the command that starts it stands below, and is read back as that plan") {
  const std::string asked = "boot --model Qwen3.5-27B --tp 2 --max-model-len 32k --available-memory 40GiB ";
  const auto command_of = [&](const std::string& flags) { return json_of(asked + flags)["command"]; };
  CHECK(command_of("") == "vllm serve Qwen/Qwen3.5-27B --tensor-parallel-size 2 --max-model-len 32768 "
                          "--kv-cache-memory-bytes 42949672960 --mamba-ssm-cache-dtype float32 "
                          "--max-num-batched-tokens 8192");
  const std::string none = command_of("--mode none --enforce-eager --max-num-seqs 300");
  CHECK(contains(none, " --no-enable-prefix-caching --enforce-eager "));
  CHECK(contains(none, " --max-num-seqs 300"));
  CHECK(command_of("--max-num-seqs 100000").is_null());
  const std::string gpu = json_of("boot --model Qwen3.5-27B --tp 2 --max-model-len 32k --gpu H100 "
                                  "--utilization 0.85")["command"];
  CHECK(contains(gpu, " --gpu-memory-utilization 0.85 "));
  CHECK_FALSE(contains(gpu, "--kv-cache-memory-bytes"));
  for (const char* flags : {"", "--mode none", "--engine vllm-2026-06 --mode align"}) {
    CAPTURE(flags);
    const nlohmann::json boots = json_of(asked + flags);
    const std::string command = boots["command"];
    const std::string engine = contains(flags, "2026") ? "--engine vllm-2026-06 " : "";
    const ProgramRun planned = run_program("plan --format json -q " + engine + "-- " + command + " 2>/dev/null");
    const nlohmann::json plan = nlohmann::json::parse(planned.output)["plans"][0];
    CHECK(plan["num_blocks"] == boots["figures"]["num_blocks"]);
    CHECK(plan["capacity"][0]["kv_cache_tokens"] == boots["figures"]["kv_cache_tokens"]);
  }
}

TEST_CASE("edge: a start without memory is asked for a GPU, as a deployer has one") {
  require_refused("boot -- vllm serve Qwen/Qwen3.5-9B --max-model-len 32K",
                  "--gpu NAME is missing; for example\n  hybridkv boot --command 'vllm serve Qwen/Qwen3.5-9B "
                  "--max-model-len 32K' --gpu H100");
}
