// The command that starts an engine, behind "--" or as --command.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/require_refused.h"

using namespace hybridkv::testing;

namespace {

const std::string serve = "vllm serve Qwen/Qwen3.5-9B --tensor-parallel-size 2 --max-model-len 32K "
                          "--kv-cache-dtype fp8 --max-num-seqs 64 --port 8000 --new-thing 7";

/// Standard output alone.
std::string answer(const std::string& line) { return run_shell(line + " 2>/dev/null").output; }

}  // namespace

TEST_CASE("golden: a pasted command is the flags that it means, and says what it was read as") {
  const std::string by_flags = answer("$HYBRIDKV plan --model Qwen3.5-9B --engine vllm-0.33 --tp 2 --memory 20G "
                                      "--max-model-len 32k --kv-dtype fp8 --format csv");
  CHECK(contains(by_flags, "32768"));
  CHECK(answer("$HYBRIDKV plan --memory 20G --format csv -- " + serve) == by_flags);
  CHECK(answer("$HYBRIDKV plan --memory 20G --format csv --command '" + serve + "'") == by_flags);
  CHECK(answer("echo '" + serve + "' | $HYBRIDKV plan --memory 20G --format csv --command -") == by_flags);
  CHECK(answer("printf 'args:\\n  - vllm serve\\n' | sed 's/vllm serve/[vllm, serve, Qwen3.5-9B, -tp, \"2\", "
               "--max-model-len, 32K, --kv-cache-dtype, fp8]/; s/^  - //; s/args:/args: /' | tr -d '\\n' | "
               "$HYBRIDKV plan --memory 20G --format csv -- -") == by_flags);
  const std::string all = run_program("plan --memory 20G -- " + serve).output;
  CHECK(contains(all, "hybridkv: the command is read as vLLM 0.33.0 starts, with --tensor-parallel-size 2"));
  CHECK(contains(all, "no number here depends on: --port 8000"));
  CHECK(contains(all, "not known here, and not counted: --new-thing 7"));
}

TEST_CASE("golden: flags beside the command win, and what it says of the start goes to boot") {
  CHECK(answer("$HYBRIDKV plan --memory 20G --tp 1 --kv-dtype bf16 --format csv -- " + serve) ==
        answer("$HYBRIDKV plan --model Qwen3.5-9B --engine vllm-0.33 --tp 1 --memory 20G --max-model-len 32k "
               "--kv-dtype bf16 --format csv"));
  const auto boot = nlohmann::json::parse(
      answer("$HYBRIDKV boot --gpu H100 --format json -- " + serve + " --gpu-memory-utilization 0.5 --enforce-eager"));
  CHECK(boot["figures"]["max_num_seqs"] == 64);
  CHECK(boot["gpu"]["utilization"] == 0.5);
}

TEST_CASE("edge: a command that nobody can read") {
  require_refused("plan --memory 20G -- vllm serve Qwen3.5-9B --max-model-lem 32K", "did you mean '--max-model-len'?");
  require_refused("plan --memory 20G -- ollama run x", "no engine is started by 'ollama'");
  require_refused("plan -- " + serve, "--memory SIZE is missing");
  require_refused("plan --engine sglang-0.5.23 --memory 20G -- " + serve, "the command is not that of SGLang 0.5.23");
  require_refused("plan --memory 20G -- vllm serve Qwen/Qwen3.5-9C --max-model-len 32K", "Qwen3.5-9B");
  require_refused("plan --memory 20G --command ''", "the command is empty");
}

TEST_CASE("golden: explain says what every flag of a command does, as the command without it plans") {
  const std::string drafting = " --speculative-config '{\"method\": \"mtp\", \"num_speculative_tokens\": 2}'";
  const auto numbers_of = [](const std::string& command) {
    return nlohmann::json::parse(answer("$HYBRIDKV plan --memory 20G --format json -- " + command))["plans"][0];
  };
  const auto explained = nlohmann::json::parse(
      answer("$HYBRIDKV explain --memory 20G --format json -- " + serve + drafting));
  const auto& flags = explained["flags"];
  REQUIRE(flags.size() == 6);  // the whole and five settings
  const auto check = [&](const nlohmann::json& row, const std::string& command) {
    CAPTURE(row.dump());
    const auto plan = numbers_of(command);
    CHECK(row["bytes_per_request"] == plan["capacity"][0]["bytes_per_request"]);
    CHECK(row["usable_concurrency"] == plan["capacity"][0]["usable_concurrency"]);
    CHECK(row["kv_cache_tokens"] == plan["capacity"][0]["kv_cache_tokens"]);
  };
  check(flags[0], serve + drafting);
  for (const auto& row : flags) {
    if (row["key"] == "engine.kv_dtype") check(row, "vllm serve Qwen/Qwen3.5-9B -tp 2 --max-model-len 32K" + drafting);
    if (row["key"] == "engine.speculative_tokens") check(row, serve);
    if (row["key"] == "limits.max_model_len")
      CHECK(row["refused"].get<std::string>().find("--max-model-len TOKENS is missing") != std::string::npos);
  }
  const std::string people = answer("$HYBRIDKV explain --memory 20G -- " + serve);
  CHECK(contains(people, "What the flags of the command do: the plan without each"));
  CHECK(contains(people, "limits.max_model_len (needed)"));
}

TEST_CASE("edge: one number of a pasted command, and what is no number of it") {
  CHECK(contains(answer("$HYBRIDKV explain 1,088 --memory 20G -- " + serve), "B = 1,088 tokens"));
  require_refused("explain 1.089 --memory 20G -- " + serve, "1.089 is no number of this plan");
  require_refused("explain qwen3.5-397b --pack 1 some", "'some' is no number");
  require_refused("explain 2096 2112 --pack 1", "one number is explained at a time");
}

TEST_CASE("law: the command that plan prints says the same plan, read back") {
  for (const std::string flags :
       {"--model Qwen3.5-9B --memory 20G --max-model-len 32k",
        "--model Qwen3.5-4B --memory 9GB --max-model-len 8k --tp 2",
        "--model Qwen3.5-9B --memory 20G --max-model-len 32k --mtp 2",
        "--model Qwen3.5-9B --memory 20G --max-model-len 32k --mode none --kv-dtype fp8 "
        "--set engine.block_size_tokens=64"}) {
    CAPTURE(flags);
    const std::string printed = answer("$HYBRIDKV plan " + flags);
    const std::size_t heading = printed.find("\nStart it\n");
    REQUIRE(heading != std::string::npos);
    std::string command = printed.substr(heading + 10, printed.find("\n\n", heading + 10) - heading - 10);
    for (std::size_t at; (at = command.find("\\\n")) != std::string::npos;) command.replace(at, 2, " ");
    CHECK(answer("$HYBRIDKV plan --format csv --command - <<'END' 2>/dev/null\n" + command + "\nEND\n") ==
          answer("$HYBRIDKV plan --format csv " + flags));
  }
  CHECK_FALSE(contains(answer("$HYBRIDKV plan qwen3.5-397b --pack 5"), "Start it"));  // packs are in no release
}
