#include "scenarios/read.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <fstream>
#include <sstream>

#include "engines/vllm/rules.h"
#include "scenarios/embedded_files.h"
#include "scenarios/model_library.h"
#include "scenario_text.h"
#include "scenarios/sweep_axes.h"
#include "test_paths.h"

namespace hybridkv::test {

namespace {

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("golden: the main scenario") {
  const Scenario scenario = read_scenario(load_scenario("qwen3.5-397b"));
  EngineSpec engine;
  engine.tensor_parallel = 2;
  engine.kv_dtype = DType::bf16;
  engine.ssm_dtype = DType::fp32;
  engine.cache_mode = CacheMode::align;
  engine.memory_bytes = std::int64_t{40} << 30;
  LimitsSpec limits;
  limits.max_model_lens = {32768};
  VerifyRequest verify;
  verify.pack_sizes = {4, 5};
  CHECK(scenario.name == "qwen3.5-397b");
  CHECK(scenario.model == find_shipped_model("Qwen3.5-397B-A17B")->model);
  CHECK(scenario.model.layers.size() == 60);
  CHECK(scenario.engine == engine);
  CHECK(scenario.limits == limits);
  CHECK(scenario.workspace == WorkspaceSpec{8192, 10'000, 128, 64, DType::bf16});
  CHECK(scenario.verify == verify);
  CHECK(scenario.pack_sizes == std::vector<std::int64_t>{1, 2, 3, 4, 5, 8, 15});
}

TEST_CASE("golden: a scenario that says no more than it must has the defaults of today") {
  const Scenario scenario = read_text_as_scenario("model: Qwen3.5-4B\nengine: {memory: 1 GB}\n"
                                                  "limits: {max_model_len: 8192}\n");
  EngineSpec engine;
  engine.rules = rules_named("vllm-0.33");
  engine.backend_profile = BackendProfile::sm90;
  engine.cache_mode = CacheMode::align;
  engine.memory_bytes = 1'000'000'000;
  LimitsSpec limits;
  limits.max_model_lens = {8192};
  CHECK(scenario.name == "bad");
  CHECK(scenario.engine == engine);
  CHECK(scenario.limits == limits);
  CHECK_FALSE(scenario.workspace);
  CHECK(scenario.verify == VerifyRequest{});
  CHECK(scenario.pack_sizes == std::vector<std::int64_t>{1});
}

TEST_CASE("golden: every key of the engine sets its field") {
  const Scenario scenario = read_text_as_scenario(
      "name: all\nmodel: Qwen3.5-4B\nlimits: {max_model_len: [8192, 1..3], longest_prompt_tokens: 5, load_tokens: 7}\n"
      "verify: {requests: [3, 4], seed: 9, resident_budget: 1 MiB, pack_sizes: 2}\n"
      "engine: {tensor_parallel: 2, kv_dtype: fp8, conv_dtype: fp16, ssm_dtype: float32, cache_mode: all,\n"
      "  attention_pack_size: 3, block_size_tokens: 256, mamba_block_size_tokens: 512, kernel_alignment_tokens: 32,\n"
      "  kernel_block_sizes: [16, 64], backend_form: kv_first, physical_order: HND, speculative_tokens: 1,\n"
      "  mtp_layers: 4, num_blocks: 50, max_num_batched_tokens: 2048, token_rule: floor,\n"
      "  pad_heads: true, layers_per_group: 6, release: vllm-0.33, backend_profile: sm100-fa4,\n"
      "  checkpoint_alignment_tokens: 128, checkpoint_blocks: 0, pipeline_parallel: 3, pipeline_rank: 2,\n"
      "  pipeline_layers: [9, 10, 11], pipeline_memory: [2 GiB, 3 GiB, 1048576],\n"
      "  decode_context_parallel: 2, concurrent_batches: 4,\n"
      "  prefix_match_unit_tokens: 64, hybrid_manager: false,\n"
      "  draft: {layers: 5, attention: {query_heads: 8, kv_heads: 4, head_size_k: 64, head_size_v: 32,\n"
      "                                 window_tokens: 2048}}}\n");
  const AttentionSpec window{AttentionKind::sliding_window, 8, 4, 64, 32, 2048};
  EngineSpec engine;
  engine.tensor_parallel = 2;
  engine.kv_dtype = DType::fp8_e4m3;
  engine.conv_dtype = DType::fp16;
  engine.ssm_dtype = DType::fp32;
  engine.cache_mode = CacheMode::all;
  engine.attention_pack_size = 3;
  engine.block_size_tokens = 256;
  engine.mamba_block_size_tokens = 512;
  engine.kernel_alignment_tokens = 32;
  engine.kernel_block_sizes = {16, 64};
  engine.backend_form = BackendForm::kv_first;
  engine.physical_order = PhysicalOrder::hnd;
  engine.speculative_tokens = 1;
  engine.mtp_layers = 4;
  engine.draft = DraftSpec{5, window};
  engine.num_blocks = 50;
  engine.max_num_batched_tokens = 2048;
  engine.token_rule = TokenRule::floor;
  engine.pad_heads = true;
  engine.layers_per_group = 6;
  engine.rules = &rules_of_vllm_0_33;
  engine.backend_profile = BackendProfile::sm100_fa4;
  engine.cache_order = CacheOrder::lbhnc;  // HND
  engine.checkpoint_alignment_tokens = 128;
  engine.checkpoint_blocks = 0;
  engine.pipeline_parallel = 3;
  engine.pipeline_rank = 2;
  engine.pipeline_layers = {9, 10, 11};
  engine.pipeline_memory_bytes = {std::int64_t{2} << 30, std::int64_t{3} << 30, 1 << 20};
  engine.memory_bytes = 1 << 20;  // of the planned stage
  engine.decode_context_parallel = 2;
  engine.concurrent_batches = 4;
  engine.prefix_match_unit_tokens = 64;
  engine.hybrid_manager = false;
  CHECK(scenario.engine == engine);
  CHECK(scenario.pack_sizes == std::vector<std::int64_t>{3});
  CHECK(scenario.limits == LimitsSpec{{8192, 1, 2, 3}, 5, {7}});
  CHECK(scenario.verify == VerifyRequest{{3, 4}, 9, 1 << 20, {2}});
  CHECK(scenario.name == "all");
}

TEST_CASE("golden: the attention of a draft is full unless it has a window") {
  const std::string draft = "name: d\nmodel: Qwen3.5-4B\nlimits: {max_model_len: 8192}\n"
                            "engine: {memory: 1 GiB, draft: {layers: 1, attention: {query_heads: 16, kv_heads: 8, ";
  CHECK(read_text_as_scenario(draft + "head_size: 128}}}\n").engine.draft ==
        DraftSpec{1, AttentionSpec{AttentionKind::full, 16, 8, 128, 128, 0}});
  CHECK(read_text_as_scenario(draft + "head_size: 128, window_tokens: 2k}}}\n").engine.draft ==
        DraftSpec{1, AttentionSpec{AttentionKind::sliding_window, 16, 8, 128, 128, 2048}});
}

TEST_CASE("golden: a model written out") {
  const Scenario scenario = read_text_as_scenario(model_text(
      "    w: {type: sliding_window, query_heads: 4, kv_heads: 4, head_size: 32, window_tokens: 100}\n"
      "    c: {type: chunked_local, query_heads: 4, kv_heads: 4, head_size: 32, window_tokens: 200}\n"
      "    s: {type: mamba2, heads: 8, head_dim: 16, state_size: 32}\n"
      "    l: {type: mla, query_heads: 4, kv_lora_rank: 512, rope_dim: 64}\n"
      "    L: {type: mla, query_heads: 4, kv_lora_rank: 512}\n"
      "  dtype: fp16\n  ssm_dtype: fp32\n  layer_order_verified: false\n  mtp: w\n  layers: \"m E - a+s w c l L\""));
  const AttentionSpec full{AttentionKind::full, 8, 2, 64, 64, 0};
  const AttentionSpec window{AttentionKind::sliding_window, 4, 4, 32, 32, 100};
  const AttentionSpec chunk{AttentionKind::chunked_local, 4, 4, 32, 32, 200};
  const AttentionSpec latent{AttentionKind::mla, 4, 1, 576, 512, 0};
  const AttentionSpec latent_without_rope{AttentionKind::mla, 4, 1, 512, 512, 0};
  ModelSpec model;
  model.name = "x";
  model.source = "bad.yaml";
  model.layer_order_verified = false;
  model.dtype = DType::fp16;
  model.ssm_dtype = DType::fp32;
  model.layers = {{std::nullopt, GdnSpec{2, 4, 8, 8, 4}}, {}, {}, {full, Mamba2Spec{8, 16, 32, 1, 4, 256}},
                  {window, std::nullopt}, {chunk, std::nullopt}, {latent, std::nullopt},
                  {latent_without_rope, std::nullopt}};
  model.mtp = window;
  CHECK(scenario.model == model);
}

TEST_CASE("golden: a model in a file of its own, found from the folder of the scenario") {
  const Scenario scenario = read_scenario(load_scenario(HYBRIDKV_TEST_DATA "/scenarios/with_model_file.yaml"));
  CHECK(scenario.name == "with_model_file");
  CHECK(scenario.model.name == "tiny-hybrid");
  CHECK(scenario.model.layers.size() == 4);
  const InputError error = located(SpecError("model.layers[3].attention.kv_heads", "wrong"), scenario);
  CHECK(std::string(error.what()) == HYBRIDKV_TEST_DATA
        "/scenarios/tiny_model.yaml:4:55: model.layers[3].attention.kv_heads: wrong\n"
        "    a: {type: full_attention, query_heads: 4, kv_heads: 2, head_size: 16}\n"
        "                                                        ^");
}

TEST_CASE("edge: a scenario by path needs no shipped name, JSON is YAML") {
  const Scenario scenario = read_scenario(load_scenario(HYBRIDKV_TEST_DATA "/scenarios/small.json"));
  CHECK(scenario.name == "small");
  CHECK(scenario.pack_sizes == std::vector<std::int64_t>{1, 2, 3, 4});
}

TEST_CASE("edge: errors of the planner get the place of the value, or of what is around it") {
  const Scenario scenario = read_text_as_scenario(engine_text("tensor_parallel: 3"));
  const auto message = [&](const char* path) { return std::string(located(SpecError(path, "no"), scenario).what()); };
  CHECK(message("engine.tensor_parallel") ==
        "bad.yaml:4:20: engine.tensor_parallel: no\n    tensor_parallel: 3\n                     ^");
  CHECK(message("engine.memory_bytes") == "bad.yaml:3:11: engine.memory_bytes: no\n    memory: 40 GiB\n            ^");
  CHECK(message("engine.kernel_block_sizes") == "bad.yaml:2:1: engine.kernel_block_sizes: no\n  engine:\n  ^");
  CHECK(message("limits.max_model_lens[0]") ==
        "bad.yaml:6:18: limits.max_model_lens[0]: no\n    max_model_len: 32768\n                   ^");
  CHECK(message("verify.seed") == "bad.yaml: verify.seed: no");
  CHECK(message("model.layers[3].attention.kv_heads").starts_with("shipped:models/Qwen3.5-4B.yaml:9:"));
  CHECK(message("model.layers[2].recurrent.value_heads").starts_with("shipped:models/Qwen3.5-4B.yaml:10:"));
  CHECK(message("model.layers[3].attention.head_size_k").find("head_size: 256") != std::string::npos);
  CHECK(std::string(located(SpecError("engine.x", "no"), Scenario{}).what()) == "engine.x: no");
}

TEST_CASE("edge: errors about layers get the place of their kind, of the pattern where they have none") {
  const Scenario scenario = read_text_as_scenario(model_text("  layers: mE(a+m)\n  mtp: a"));
  const auto place = [&](const char* path) {
    const std::string message = located(SpecError(path, "no"), scenario).what();
    return message.substr(0, message.find(" "));
  };
  CHECK(place("model.layers[0].recurrent") == "bad.yaml:5:5:");
  CHECK(place("model.layers[0].recurrent.value_heads") == "bad.yaml:5:47:");
  CHECK(place("model.layers[0].attention.kv_heads") == "bad.yaml:7:11:");
  CHECK(place("model.layers[1].attention.kv_heads") == "bad.yaml:7:11:");
  CHECK(place("model.layers[2].attention.kv_heads") == "bad.yaml:4:57:");
  CHECK(place("model.layers[2].recurrent") == "bad.yaml:5:5:");
  CHECK(place("model.mtp") == "bad.yaml:8:8:");
  CHECK(place("model.mtp.kv_heads") == "bad.yaml:4:57:");
  CHECK(place("model.layers") == "bad.yaml:7:11:");
  CHECK(place("model") == "bad.yaml:1:1:");
}

TEST_CASE("golden: shipped scenarios can all be read, and are the files of the folder") {
  CHECK(shipped_scenarios() ==
        std::vector<std::string>{"example", "null-block-ceiling", "prefix-block-boundary", "prefix-checkpoints",
                                 "prefix-copies", "prefix-long-block", "prefix-second-copies", "qwen3.5-397b"});
  for (const std::string& name : shipped_scenarios()) CHECK(read_values(load_scenario(name)).name == name);
  CHECK(embedded_files().size() == shipped_scenarios().size() + shipped_models().size());
  for (const EmbeddedFile& file : embedded_files())
    CHECK(file.text == file_text(HYBRIDKV_SOURCE_DIR "/scenarios/" + std::string(file.path)));
}

TEST_CASE("law: whatever the text, it is read or refused with a message") {
  const std::string example = file_text(HYBRIDKV_SOURCE_DIR "/scenarios/example.yaml");
  const std::string alphabet = "{}[]:,-#&*!|>'\"%@`?.0129 \n\tae\x80\xff";
  int read = 0, refused = 0;
  CHECK(rc::check("the example with bytes changed, taken out and put in", [&] {
    std::string text = example;
    for (int i = *rc::gen::inRange(1, 6); i > 0 && !text.empty(); --i) {
      const auto at = static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(text.size())));
      const char byte = *rc::gen::elementOf(alphabet);
      const int change = *rc::gen::inRange(0, 4);
      if (change == 0) text[at] = byte;
      if (change == 1) text.erase(at, static_cast<std::size_t>(*rc::gen::inRange(1, 40)));
      if (change == 2) text.insert(at, 1, byte);
      if (change == 3) text.resize(at + 1);
    }
    try {
      ScenarioSweep(parse_scenario(text, "f.yaml"));
      ++read;
    } catch (const InputError& error) {
      RC_ASSERT(std::string(error.what()).starts_with("f.yaml"));
      ++refused;
    }
  }));
  CHECK(read > 0);
  CHECK(refused > 0);
}

}  // namespace hybridkv::test
