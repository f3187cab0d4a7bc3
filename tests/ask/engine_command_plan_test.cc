// What a pasted command means, and what is printed as one, is the scenario by hand.
#include <doctest/doctest.h>

#include "ask/plan.h"
#include "base/error.h"
#include "engines/serve.h"
#include "scenarios/engine_command.h"
#include "scenarios/flags_alone.h"
#include "scenarios/read.h"

using namespace hybridkv;

namespace {

struct Pasted {
  const char* command;  ///< behind the model
  const char* engine;   ///< keys by hand, as YAML
};

ScenarioFile file_of(const std::string& model, const std::string& memory, const KeyValues& keys) {
  ScenarioFile file = flags_alone();
  apply_override(file, "model", model, "command");
  apply_override(file, "engine.memory", memory, "command");
  apply_override(file, "limits.max_model_len", "32768", "command");
  for (const auto& [key, value] : keys)
    if (!key.starts_with("boot.")) apply_override(file, key, value, "command");
  return file;
}

PlanSet plan_of(ScenarioFile file) {
  const Scenario scenario = read_scenario(file);
  return plan_scenario(scenario, scenario.pack_sizes);
}

void require_same_plans(const std::string& start, const std::string& model, std::span<const Pasted> all) {
  for (const Pasted& one : all) {
    const std::string text = start + " " + model + " " + one.command;
    CAPTURE(text);
    const EngineCommand command = read_engine_command(words_of_command(text));
    CHECK(command.unknown.empty());
    KeyValues keys = command.keys;
    keys["engine.release"] = command.engine->rules->name;
    const std::string by_hand = "model: " + model + "\nengine: {memory: 40 GiB, release: " +
                                std::string(command.engine->rules->name) + (*one.engine ? ", " : "") + one.engine +
                                "}\nlimits: {max_model_len: " + (keys.contains("limits.max_model_len")
                                                                     ? keys["limits.max_model_len"] : "32768") + "}\n";
    CHECK(plan_of(file_of(model, "40 GiB", keys)) == plan_of(parse_scenario(by_hand, "by-hand.yaml")));
  }
}

constexpr Pasted of_vllm[] = {
    {"", ""},
    {"--tensor-parallel-size 2", "tensor_parallel: 2"},
    {"-tp 4 --max-model-len 64K", "tensor_parallel: 4"},
    {"--tensor-parallel-size=2 --pipeline-parallel-size 2", "tensor_parallel: 2, pipeline_parallel: 2"},
    {"--kv-cache-dtype fp8", "kv_dtype: fp8"},
    {"--kv-cache-dtype auto", ""},
    {"--kv-cache-dtype bfloat16 --mamba-ssm-cache-dtype float32", "kv_dtype: bf16, ssm_dtype: fp32"},
    {"--mamba-cache-dtype float16 --mamba-ssm-cache-dtype auto", "conv_dtype: fp16"},
    {"--block-size 256", "block_size_tokens: 256"},
    {"--no-enable-prefix-caching", "cache_mode: none"},
    {"--enable-prefix-caching", "cache_mode: align"},
    {"--max-num-batched-tokens 4096", "max_num_batched_tokens: 4096"},
    {"--num-gpu-blocks-override 900", "num_blocks: 900"},
    {"--speculative-config '{\"method\":\"mtp\",\"num_speculative_tokens\":3}'",
     "mtp_layers: 1, speculative_tokens: 3"},
    {"--speculative-config.method ngram --speculative-config.num_speculative_tokens 2", "speculative_tokens: 2"},
    {"--enable-mamba-shared-prefix-checkpoint", "enable_mamba_shared_prefix_checkpoint: true"},
};
constexpr Pasted of_sglang[] = {
    {"", ""},
    {"--tp 2", "tensor_parallel: 2"},
    {"--tp-size 4 --dp-size 2 --enable-dp-attention", "tensor_parallel: 2, attention_data_parallel: 2"},
    {"--tp-size 4 --dp-size 2", "tensor_parallel: 4"},
    {"--disable-radix-cache", "cache_mode: none"},
    {"--mamba-full-memory-ratio 0.5", "state_memory_ratio: 0.5"},
    {"--max-mamba-cache-size 100", "max_mamba_cache_size: 100"},
    {"--page-size 64", "page_size: 64"},
    {"--mamba-radix-cache-strategy no_buffer", "mamba_radix_cache_strategy: no_buffer"},
    {"--disable-overlap-schedule --chunked-prefill-size 4096", "overlap_schedule: false, max_num_batched_tokens: 4096"},
    {"--mamba-ssm-dtype bfloat16 --kv-cache-dtype fp8_e4m3", "ssm_dtype: bf16, kv_dtype: fp8"},
    {"--enable-hierarchical-cache --hicache-ratio 3", "enable_hierarchical_cache: true, hicache_ratio: [3]"},
};
constexpr Pasted of_llama_cpp[] = {
    {"", ""},
    {"-c 65536 -np 2", "ctx_size: 65536, max_running_requests: 2"},
    {"--parallel 8 --kv-unified", "max_running_requests: 8, kv_unified: true"},
    {"--cache-type-k q8_0 --cache-type-v q8_0 -fa on", "cache_type_k: q8_0, cache_type_v: q8_0, flash_attn: on"},
    {"--ctx-checkpoints 8 --checkpoint-min-step 0", "ctx_checkpoints: 8, checkpoint_min_step: 0"},
    {"--cache-ram 0 -ub 1024", "cache_ram: 0, ubatch_size: 1024"},
};
// Each of its requests keeps a state, and the usual 2,048 do not fit.
constexpr Pasted of_tensorrt_llm[] = {
    {"--max_batch_size 100", "max_batch_size: 100"},
    {"--tp_size 2 --max_batch_size 100", "tensor_parallel: 2, max_batch_size: 100"},
    {"--max_batch_size 16 --max_num_tokens 4096", "max_batch_size: 16, max_num_batched_tokens: 4096"},
    {"--max_batch_size 16 --kv_cache_config.tokens_per_block=64", "max_batch_size: 16, tokens_per_block: 64"},
    {"--max_batch_size 16 --kv_cache_config.enable_block_reuse=true "
     "--kv_cache_config.mamba_state_config.periodic_snapshot_interval=256",
     "max_batch_size: 16, cache_mode: align, periodic_snapshot_interval: 256"},
    {"--max_batch_size 16 --kv_cache_config.dtype=fp8", "max_batch_size: 16, kv_dtype: fp8"},
};

}  // namespace

TEST_CASE("golden: 40 commands of four engines give the plan of the scenario by hand") {
  CHECK(std::size(of_vllm) + std::size(of_sglang) + std::size(of_llama_cpp) + std::size(of_tensorrt_llm) == 40);
  require_same_plans("vllm serve", "Qwen3.5-27B", of_vllm);
  require_same_plans("python -m sglang.launch_server --model-path", "Qwen3.5-27B", of_sglang);
  require_same_plans("llama-server -m", "Qwen3.5-27B", of_llama_cpp);
  require_same_plans("trtllm-serve", "Qwen3.5-27B", of_tensorrt_llm);
}

TEST_CASE("law: the command that is printed for a plan is read back as that plan") {
  const std::string models[] = {"Qwen3.5-27B", "Qwen3-Next-80B-A3B", "Nemotron-3-Nano-30B-A3B", "Kimi-Linear-48B-A3B"};
  const std::string settings[] = {"", "tensor_parallel: 2", "kv_dtype: bf16, max_num_batched_tokens: 4096",
                                  "speculative_tokens: 2", "cache_mode: none"};
  int read = 0;
  for (const Engine* const engine : all_engines()) {
    // What gives the memory to the others is no flag, and what TensorRT-LLM reads is a file.
    if (engine->command == nullptr || engine->start == nullptr) continue;
    for (const std::string& model : models)
      for (const std::string& one : settings) {
        const std::string yaml = "model: " + model + "\nengine: {memory: 40 GiB, release: " +
                                 std::string(engine->rules->name) + (one.empty() ? "" : ", ") + one +
                                 "}\nlimits: {max_model_len: 32768}\n";
        CAPTURE(yaml);
        const Scenario scenario = read_scenario(parse_scenario(yaml, "printed.yaml"));
        const PlanSet set = plan_scenario(scenario, {1});
        const std::vector<EngineSetting> mode{
            {"engine.cache_mode", "", one == "cache_mode: none" ? "--no-enable-prefix-caching" : ""}};
        const ServeCommand serve = serve_command({scenario.model, scenario.engine, scenario.limits,
                                                  scenario.simulate.scheduler, set.plans.front(), mode});
        CAPTURE(serve.command);
        const EngineCommand command = read_engine_command(words_of_command(serve.command), engine->rules->name);
        CHECK(command.unknown.empty());
        KeyValues keys = command.keys;
        keys["engine.release"] = engine->rules->name;
        CHECK(plan_of(file_of(model, "1 GiB", keys)) == set);
        ++read;
      }
  }
  CHECK(read >= 40);
}
