#include "scenarios/engine_command.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "scenarios/scenario_keys.h"
#include "tests/scenarios/scenario_text.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using hybridkv::test::error_of;

namespace {

EngineCommand read_text(std::string_view text, std::string_view release = {}) {
  return read_engine_command(words_of_command(text), release);
}

}  // namespace

TEST_CASE("golden: a pasted command says its engine, its model and its settings") {
  const EngineCommand command = read_text(
      "VLLM_KV_CACHE_LAYOUT=BLHNC /usr/bin/vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct --tensor_parallel_size=4 "
      "--max-model-len 128k --max-num-batched-tokens 8K --kv-cache-dtype fp8 --port 8000 --trust-remote-code "
      "--fancy-thing 3 -O3");
  CHECK(command.engine->rules->name == "vllm-0.33");
  CHECK(command.model == "Qwen/Qwen3-Next-80B-A3B-Instruct");
  CHECK(command.keys == KeyValues{{"engine.cache_order", "BLHNC"},
                                  {"engine.kv_dtype", "fp8"},
                                  {"engine.max_num_batched_tokens", "8192"},
                                  {"engine.tensor_parallel", "4"},
                                  {"limits.max_model_len", "128000"}});
  CHECK(command.unused == std::vector<std::string>{"--port 8000", "--trust-remote-code"});
  CHECK(command.unknown == std::vector<std::string>{"--fancy-thing 3", "-O3"});
}

TEST_CASE("golden: a script, a Kubernetes list, an image and a JSON mapping are read alike") {
  const KeyValues expected{{"engine.mtp_layers", "1"}, {"engine.speculative_tokens", "2"},
                           {"engine.tensor_parallel", "2"}};
  const char* const drafts = "{\"method\": \"qwen3_next_mtp\", \"num_speculative_tokens\": 2}";
  const std::string json = drafts;
  CHECK(read_text("#!/bin/sh\nset -e\nexport X=1\nexec vllm serve M \\\n  -tp 2 \\\n  --speculative-config '" + json +
                  "'\necho done --tp 9\n").keys == expected);
  CHECK(read_text("- vllm\n- serve\n- M\n- --tensor-parallel-size=2\n- --speculative-config\n- '" + json + "'\n")
            .keys == expected);
  CHECK(read_text("command: [vllm, serve]\nargs: [\"M\", \"-tp\", \"2\", \"--speculative-config.method\", \"mtp\", "
                  "\"--speculative-config.num_speculative_tokens\", \"2\"]\n").keys == expected);
  CHECK(read_text("docker run --gpus all vllm/vllm-openai:v0.33.0 --model M -tp 2 --speculative-config '" + json + "'")
            .keys == expected);
  CHECK(read_text("--model M -tp 2 --speculative-config '" + json + "'", "vllm-2026-06").keys == expected);
  CHECK(read_text("vllm serve M -tp 2 --speculative-config '{\"method\": \"ngram\", \"num_speculative_tokens\": 2}'")
            .keys == KeyValues{{"engine.speculative_tokens", "2"}, {"engine.tensor_parallel", "2"}});
}

TEST_CASE("golden: each engine's own spelling") {
  CHECK(read_text("python -m sglang.launch_server --model-path M --tp 8 --dp 2 --enable-dp-attention "
                  "--context-length 9").keys ==
        KeyValues{{"engine.attention_data_parallel", "2"}, {"engine.tensor_parallel", "4"},
                  {"limits.max_model_len", "9"}});
  CHECK(read_text("python3 -m sglang.launch_server --model M --tp 8 --dp 2 --disable-radix-cache").keys ==
        KeyValues{{"engine.cache_mode", "none"}, {"engine.tensor_parallel", "8"}});
  const EngineCommand server = read_text("./build/bin/llama-server -hf unsloth/Qwen3.5-4B-GGUF:UD-Q4_K_XL -c 32768 "
                                         "-np 2 --slot-prompt-similarity 0.25 -ngl 99");
  CHECK(server.model == "Qwen3.5-4B");
  CHECK(server.keys == KeyValues{{"engine.ctx_size", "32768"}, {"engine.max_running_requests", "2"},
                                 {"engine.slot_prompt_similarity_percent", "25"}});
  CHECK(read_text("llama-server -m models/Qwen3.5-27B-Q4_K_M.gguf").model == "Qwen3.5-27B");
  const hybridkv::testing::ScratchFolder folder;
  const std::string file = folder.file("options.yaml", "kv_cache_config:\n  enable_block_reuse: true\n"
                                                       "  pool_ratio: [0.25, 0.75]\n  mamba_state_config: "
                                                       "{periodic_snapshot_interval: 256}\nprint_iter_log: true\n");
  const EngineCommand trt = read_text("trtllm-serve serve M --tp_size 2 --extra_llm_api_options " + file);
  CHECK(trt.keys == KeyValues{{"engine.cache_mode", "align"}, {"engine.periodic_snapshot_interval", "256"},
                              {"engine.pool_ratio", "[0.25, 0.75]"}, {"engine.tensor_parallel", "2"}});
  CHECK(trt.unused == std::vector<std::string>{"--print_iter_log true"});
}

TEST_CASE("edge: a drafter of whose layers nothing is known is named, and its tokens count") {
  const EngineCommand eagle = read_text(
      "vllm serve M --max-model-len auto --speculative-config "
      "'{\"method\": \"eagle3\", \"model\": \"X\", \"num_speculative_tokens\": 3}'");
  CHECK(eagle.keys == KeyValues{{"engine.speculative_tokens", "3"}});
  CHECK(eagle.unknown == std::vector<std::string>{"--speculative-config.method eagle3"});
  CHECK(eagle.unused == std::vector<std::string>{"--speculative-config.model X"});
}

TEST_CASE("edge: what is no command, and slips of the pen") {
  const auto error = [](std::string_view text, std::string_view release = {}) {
    return error_of([&] { read_text(text, release); });
  };
  CHECK(error("vllm serve M --tensor-paralel-size 4") ==
        "--tensor-paralel-size: the engine has no such flag; did you mean '--tensor-parallel-size'?");
  CHECK(error("vllm serve M --tensor-parallel-size").starts_with("--tensor-parallel-size: its value is missing"));
  CHECK(error("vllm serve M --tensor-parallel-size --port 8").starts_with("--tensor-parallel-size: its value is"));
  CHECK(error("vllm serve M --speculative-config mtp").find("its value is no JSON mapping") != std::string::npos);
  CHECK(error("ollama serve M").find("no engine is started by 'ollama'; hybridkv reads vllm serve MODEL") == 0);
  CHECK(error("").find("the command is empty") == 0);
  CHECK(error("vllm serve M", "sglang-0.5.23") == "the command is not that of SGLang 0.5.23; leave --engine out");
  CHECK(error("trtllm-serve M --config /no/such.yaml").find("/no/such.yaml: no such file") == 0);
  CHECK(error("vllm serve 'M").find("is never closed") != std::string::npos);
}

TEST_CASE("law: every flag names a key that a scenario of its engine has, or none") {
  for (const Engine* const engine : all_engines()) {
    if (engine->command == nullptr) continue;
    CHECK_FALSE(engine->command->example.empty());
    for (const EngineWord& word : engine->command->words) {
      const std::string_view key = word.key;
      if (key.empty() || key.starts_with("boot.") || key.starts_with("sglang.")) continue;
      CAPTURE(word.flag);
      const std::string section(key.substr(0, key.find('.'))), name(key.substr(key.find('.') + 1));
      const KeyInfo* const part = scenario_keys().info().find(section);
      REQUIRE(part != nullptr);
      CHECK(part->section->find(name) != nullptr);
    }
  }
}
