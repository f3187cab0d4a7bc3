// The command line of trtllm-serve, and the file that it reads.
#include <doctest/doctest.h>

#include "ask/plan.h"
#include "engines/serve.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

Scenario scenario_of_groups(const std::string& engine) {
  return read_scenario(parse_scenario(
      "model: Qwen3.5-397B-A17B\nengine:\n  release: tensorrt-llm\n  memory: 40 GiB\n  tensor_parallel: 2\n"
      "  max_batch_size: 64\n" + engine + "limits:\n  max_model_len: [32768, 8192]\n", "groups.yaml"));
}

ServeCommand served_groups(const std::string& engine) {
  const Scenario scenario = scenario_of_groups(engine);
  const PlanSet set = plan_scenario(scenario, {1});
  return serve_command({scenario.model, scenario.engine, scenario.limits, scenario.simulate.scheduler,
                        set.plans.front(), own_settings(scenario.engine)});
}

bool says_in_file(const std::string& engine, const std::string& part) {
  return served_groups(engine).command.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("golden: the command line of TensorRT-LLM writes the configuration of its cache, and reads it") {
  const ServeCommand plain = served_groups("  additional_snapshot_offsets_from_end: [0]\n");
  CHECK(plain.command ==
        "echo 'kv_cache_config: {max_gpu_total_bytes: 42949672960, tokens_per_block: 32, avg_seq_len: 16384, "
        "enable_block_reuse: true, mamba_state_config: {additional_snapshot_offsets_from_end: [0]}}' > hybridkv.yaml "
        "&& trtllm-serve Qwen/Qwen3.5-397B-A17B --tp_size 2 --max_batch_size 64 --max_num_tokens 8192 "
        "--enable_chunked_prefill --max_seq_len 32768 --config hybridkv.yaml");
  CHECK(plain.beside.empty());
  CHECK(says_in_file("  periodic_snapshot_interval: 2048\n  additional_snapshot_offsets_from_start: [512, 1000]\n"
                     "  enable_branch_snapshot: true\n  enable_partial_reuse: false\n  tokens_per_block: 64\n",
                     "tokens_per_block: 64, avg_seq_len: 16384, enable_block_reuse: true, enable_partial_reuse: false, "
                     "mamba_state_config: {periodic_snapshot_interval: 2048, "
                     "additional_snapshot_offsets_from_start: [512, 1000], enable_branch_snapshot: true}}"));
  CHECK(says_in_file("  host_cache_size: 64 GiB\n",
                     "enable_block_reuse: true, host_cache_size: 68719476736}"));
  CHECK(says_in_file("  kv_dtype: fp8_e4m3\n  ssm_dtype: fp32\n",
                     "dtype: fp8, mamba_ssm_cache_dtype: float32}"));
}

TEST_CASE("golden: shares of memory are weights in the order in which layers first occur, a ratio too") {
  CHECK(says_in_file("  pool_ratio: [0.25, 0.75]\n", "pool_ratio: [0.25, 0.75], enable_block_reuse"));
  // The first layer of this model is recurrent.
  CHECK(says_in_file("  state_memory_ratio: 0.25\n", "pool_ratio: [0.2, 0.8], enable_block_reuse"));
}

TEST_CASE("golden: what no setting of the engine says is said beside the command") {
  const ServeCommand none = served_groups("  prunes_stale_leaves: true\n");
  REQUIRE(none.beside.size() == 2);
  CHECK(none.beside[0] ==
        "engine.prunes_stale_leaves is no setting of the engine: take a build from before PR 17323.");
  CHECK(none.beside[1] == "Block reuse is on and no snapshot is set, so that it finds nothing.");
  CHECK(served_groups("  cache_mode: none\n").beside.empty());
  CHECK(says_in_file("  cache_mode: none\n", "enable_block_reuse: false}"));
  CHECK(says_in_file("  use_kv_cache_manager_v2: false\n  periodic_snapshot_interval: 256\n",
                     "use_kv_cache_manager_v2: false, mamba_state_config: {periodic_snapshot_interval: 256}}"));
}

TEST_CASE("golden: the choices of TensorRT-LLM come with the lines of its file") {
  const std::vector<EngineSetting> settings = own_settings(
      scenario_of_groups("  additional_snapshot_offsets_from_end: [0, 32]\n  enable_branch_snapshot: true\n").engine);
  REQUIRE(settings.size() == 5);
  CHECK(settings[0].flag == "enable_block_reuse: true");
  CHECK(settings[1].flag == "--max_batch_size 64");
  CHECK(settings[2].key == "engine.tokens_per_block");
  CHECK(settings[3].flag == "additional_snapshot_offsets_from_end: [0, 32]");
  CHECK(settings[4].value == "true");
}
