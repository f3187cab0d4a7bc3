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
