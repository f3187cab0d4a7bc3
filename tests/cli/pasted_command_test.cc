// A pasted command of each engine says the plan that the scenario by hand says, in combinations of its flags.
#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"

using namespace hybridkv::testing;

namespace {

/// A flag as the engine has it, and the key that somebody would write by hand.
struct PastedFlag {
  std::string flag;
  std::string by_hand;
};

struct PastedEngine {
  std::string release;
  std::string command;  ///< that all combinations begin with
  std::vector<PastedFlag> flags;
};

const std::vector<PastedEngine>& pasted_engines() {
  static const std::vector<PastedEngine> engines{
      {"vllm-0.33",
       "vllm serve Qwen/Qwen3.5-9B",
       {{"--tensor-parallel-size 2", "engine.tensor_parallel=2"},
        {"--kv-cache-dtype fp8", "engine.kv_dtype=fp8"},
        {"--mamba-ssm-cache-dtype bfloat16", "engine.ssm_dtype=bf16"},
        {"--no-enable-prefix-caching", "engine.cache_mode=none"},
        {"--block-size 64", "engine.block_size_tokens=64"},
        {"--max-num-batched-tokens 4k", "engine.max_num_batched_tokens=4000"},
        {"--speculative-config '{\"method\": \"ngram\", \"num_speculative_tokens\": 3}'",
         "engine.speculative_tokens=3"},
        {"--max-num-seqs 64", "simulate.max_num_seqs=64"}}},
      {"sglang-0.5.23",
       "python -m sglang.launch_server --model-path Qwen/Qwen3.5-9B",
       {{"--tp-size 2", "engine.tensor_parallel=2"},
        {"--kv-cache-dtype fp8_e4m3", "engine.kv_dtype=fp8_e4m3"},
        {"--mamba-ssm-dtype bfloat16", "engine.ssm_dtype=bf16"},
        {"--mamba-full-memory-ratio 0.5", "engine.state_memory_ratio=0.5"},
        {"--chunked-prefill-size 4096", "engine.max_num_batched_tokens=4096"},
        {"--max-running-requests 48", "engine.max_running_requests=48"},
        {"--mamba-radix-cache-strategy no_buffer", "engine.mamba_radix_cache_strategy=no_buffer"},
        {"--disable-overlap-schedule", "engine.overlap_schedule=false"}}},
      {"tensorrt-llm",
       "trtllm-serve Qwen/Qwen3.5-9B",
       {{"--tp_size 2", "engine.tensor_parallel=2"},
        {"--max_batch_size 64", "engine.max_batch_size=64"},
        {"--max_num_tokens 4096", "engine.max_num_batched_tokens=4096"},
        {"--kv_cache_dtype fp8", "engine.kv_dtype=fp8"},
        {"--max_batch_size=128", "engine.max_batch_size=128"}}},
      {"llama.cpp",
       "llama-server --model Qwen3.5-9B.gguf",
       {{"--parallel 8", "engine.max_running_requests=8"},
        {"--no-kv-unified", "engine.kv_unified=false"},
        {"--ctx-size 262144", "engine.ctx_size=262144"},
        {"--ctx-checkpoints 4", "engine.ctx_checkpoints=4"},
        {"--cache-ram 1024", "engine.cache_ram=1024"},
        {"--ubatch-size 256", "engine.ubatch_size=256"}}}};
  return engines;
}

}  // namespace

TEST_CASE("law: a pasted command plans what the scenario by hand plans, in 40 combinations of flags") {
  std::mt19937 dice(33);
  int combinations = 0, planned = 0;
  for (const PastedEngine& engine : pasted_engines())
    for (int i = 0; i < 10; ++i, ++combinations) {
      std::string pasted = engine.command;
      std::string by_hand = "--model Qwen3.5-9B --engine " + engine.release;
      for (const PastedFlag& flag : engine.flags) {
        if (dice() % 2 == 0) continue;
        pasted += " " + flag.flag;
        by_hand += " --set " + flag.by_hand;
      }
      CAPTURE(pasted);
      CAPTURE(by_hand);
      const std::string asked = "$HYBRIDKV plan --memory 40G --max-model-len 32k --format json ";
      const ProgramRun read = run_shell(asked + "-- " + pasted + " 2>/dev/null");
      const ProgramRun written = run_shell(asked + by_hand + " 2>/dev/null");
      CHECK(read.exit_code == written.exit_code);
      CHECK(read.output == written.output);
      planned += read.exit_code == 0 ? 1 : 0;
    }
  CHECK(combinations == 40);
  CHECK(planned >= 30);
}
