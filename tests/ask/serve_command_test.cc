#include "engines/serve.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "ask/plan.h"
#include "ask/recommend.h"
#include "ask/replay/planned_caches.h"
#include "base/error.h"
#include "base/shell_word.h"
#include "tests/ask/asked.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

/// Of a whole scenario as it is planned, without choices of a search.
ServeCommand serve_of(const std::string& text) {
  const Scenario scenario = read_scenario(parse_scenario(text, "served.yaml"));
  const PlanSet set = plan_scenario(scenario, {1});
  return serve_command({scenario.model, scenario.engine, scenario.limits, scenario.simulate.scheduler,
                        set.plans.front(),
                        has_block_index(*scenario.engine.rules) ? std::vector<EngineSetting>{}
                                                                : own_settings(scenario.engine)});
}

std::string served_scenario(const std::string& model, const std::string& engine) {
  return "model: " + model + "\nengine:\n  memory: 40 GiB\n" + by_june(engine) +
         "limits:\n  max_model_len: [32768, 8192]\n";
}

bool says(const ServeCommand& serve, const std::string& part) {
  for (const std::string& sentence : serve.beside)
    if (sentence.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("edge: a model that the release does not serve has no command line, and the reason instead") {
  const ServeCommand serve = serve_of(served_scenario("RWKV-4-7B-pile", "  release: vllm-0.33\n"));
  CHECK(serve.command.empty());
  CHECK(serve.beside == std::vector<std::string>{"No command line: vLLM 0.33.0 does not serve RwkvForCausalLM; take "
                                                 "another engine.release."});
}

TEST_CASE("golden: the command line of vLLM") {
  const ServeCommand plain = serve_of(served_scenario("Qwen3.5-397B-A17B", "  tensor_parallel: 2\n"));
  CHECK(plain.command == "vllm serve Qwen/Qwen3.5-397B-A17B --tensor-parallel-size 2 --max-model-len 32768 "
                         "--kv-cache-memory-bytes 42949672960 --mamba-ssm-cache-dtype float32 "
                         "--max-num-batched-tokens 8192");
  CHECK(plain.beside.empty());
  const ServeCommand more = serve_of(served_scenario(
      "Qwen3.5-397B-A17B", "  release: vllm-0.33\n  tensor_parallel: 2\n  pipeline_parallel: 3\n  kv_dtype: fp8\n"
                           "  ssm_dtype: bf16\n  physical_order: BLHNC\n  speculative_tokens: 3\n  mtp_layers: 1\n"
                           "  max_num_batched_tokens: 4096\n"));
  CHECK(more.command ==
        "VLLM_KV_CACHE_LAYOUT=BLHNC vllm serve Qwen/Qwen3.5-397B-A17B --tensor-parallel-size 2 "
        "--pipeline-parallel-size 3 --max-model-len 32768 --kv-cache-memory-bytes 42949672960 "
        "--kv-cache-dtype fp8_e4m3 --mamba-ssm-cache-dtype bfloat16 --max-num-batched-tokens 4096 "
        "--speculative-config '{\"method\":\"mtp\",\"num_speculative_tokens\":3}'");
  const ServeCommand blocks =
      serve_of(served_scenario("Qwen3.5-27B", "  num_blocks: 500\n  kernel_block_sizes: [16, 64]\n"));
  CHECK(blocks.command.find("--num-gpu-blocks-override 500") != std::string::npos);
  CHECK(blocks.command.find("memory-bytes") == std::string::npos);
  CHECK(says(blocks, "No flag says engine.kernel_block_sizes"));
}

TEST_CASE("golden: the command line of llama.cpp says its cells, and that they are shared") {
  const ServeCommand plain = serve_of(served_scenario("Qwen3.5-27B", "  release: llama.cpp\n"));
  // (40 GiB - 4 rows of 156,893,184 bytes) / 65,536 bytes, in whole 256.
  CHECK(plain.command ==
        "llama-server --model Qwen3.5-27B.gguf --ctx-size 645632 --kv-unified --parallel 4 --ctx-checkpoints 32 "
        "--checkpoint-min-step 8192 --cache-ram 8192");
  CHECK(says(plain, "Qwen3.5-27B.gguf stands for the file of the model"));
  CHECK(says(plain, "no flag here turns away requests of 32768 tokens or more"));
  const ServeCommand more = serve_of(served_scenario(
      "Qwen3.5-27B", "  release: llama.cpp\n  tensor_parallel: 2\n  cache_mode: none\n  max_running_requests: 9\n"
                     "  speculative_tokens: 3\n  checkpoint_min_step: 0\n"));
  CHECK(more.command.find("--parallel 9 --ctx-checkpoints 0 --checkpoint-min-step 0") != std::string::npos);
  CHECK(says(more, "2 GPUs"));
  CHECK(says(more, "drafts 3 tokens"));
}

TEST_CASE("golden: the command line of SGLang, and that no flag gives its memory") {
  const ServeCommand plain =
      serve_of(served_scenario("Qwen3.5-397B-A17B", "  release: sglang-0.5.23\n  tensor_parallel: 2\n"));
  CHECK(plain.command ==
        "python -m sglang.launch_server --model-path Qwen/Qwen3.5-397B-A17B --tp-size 2 --context-length 32768 "
        "--mamba-radix-cache-strategy extra_buffer --mamba-full-memory-ratio 0.9 --page-size 1 "
        "--mamba-track-interval 256 --chunked-prefill-size 8192 --mamba-ssm-dtype float32");
  CHECK(says(plain, "max_mamba_cache_size 210 and max_total_num_tokens 1477030"));
  CHECK(says(plain, "--mem-fraction-static"));
  const ServeCommand more = serve_of(served_scenario(
      "Qwen3.5-397B-A17B", "  release: sglang-0.5.23\n  tensor_parallel: 2\n  attention_data_parallel: 2\n"
                           "  max_mamba_cache_size: 400\n  max_running_requests: 64\n  skip_decode_lock: true\n"
                           "  conv_dtype: fp16\n  speculative_tokens: 4\n  mtp_layers: 1\n"
                           "  linear_replayssm_spec: true\n  page_size: 64\n  kv_dtype: fp8\n"));
  CHECK(more.command ==
        "SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK=1 SGLANG_MAMBA_CONV_DTYPE=float16 python -m sglang.launch_server "
        "--model-path Qwen/Qwen3.5-397B-A17B --tp-size 4 --dp-size 2 --enable-dp-attention --context-length 32768 "
        "--mamba-radix-cache-strategy extra_buffer --max-mamba-cache-size 400 --page-size 64 "
        "--mamba-track-interval 256 --chunked-prefill-size 8192 --max-running-requests 64 --kv-cache-dtype fp8_e4m3 "
        "--mamba-ssm-dtype float32 --speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1 "
        "--speculative-num-draft-tokens 4 --enable-linear-replayssm-spec");
  const ServeCommand off = serve_of(
      served_scenario("Qwen3.5-397B-A17B", "  release: sglang-0.5.23\n  tensor_parallel: 2\n  cache_mode: none\n"));
  CHECK(off.command.find("--disable-radix-cache") != std::string::npos);
  CHECK(off.command.find("strategy") == std::string::npos);
  const ServeCommand host = serve_of(served_scenario(
      "Qwen3.5-397B-A17B", "  release: sglang-0.5.23\n  tensor_parallel: 2\n  enable_hierarchical_cache: true\n"
                           "  hicache_ratio: 1.5\n  hicache_write_policy: write_back\n"));
  CHECK(host.command.find(" --enable-hierarchical-cache --hicache-ratio 1.5 --hicache-write-policy write_back ") !=
        std::string::npos);
}

TEST_CASE("edge: what no engine runs has no command line, a model of another's shapes no repository") {
  const ServeCommand dual = serve_of(served_scenario("Qwen3.5-397B-A17B", "  strategy: dual_pool\n"));
  CHECK(dual.command.empty());
  CHECK(says(dual, "No engine runs it"));
  // Its shapes are those of Qwen3.5-27B, whose config.json is the source.
  const ServeCommand alias = serve_of(served_scenario("Qwen3.6-27B", ""));
  CHECK(alias.command.starts_with("vllm serve Qwen3.6-27B --tensor"));
  CHECK(says(alias, "Qwen3.6-27B stands for the folder or the repository"));
  const ServeCommand own = serve_of(served_scenario(
      "{name: my model, dtype: bf16, kinds: {a: {type: full_attention, query_heads: 8, kv_heads: 2, head_size: 64}}, "
      "layers: a4}", ""));
  CHECK(own.command.starts_with("vllm serve 'my model' --tensor"));
}

TEST_CASE("law: the flags of a pick are in its command line, in what it is told and in the settings alike") {
  const Scenario scenario = small_scenario("", "simulate: {trace: {max_requests: 50}}\n");
  RecommendQuestion question;
  question.space.packs = {1, 3};
  question.space.modes = {CacheMode::align};
  const RecommendAnswer answer = recommend_scenario(scenario, question);
  REQUIRE(answer.pick.settings.size() >= 2);
  std::string told = answer.pick.serve.command;
  for (const std::string& sentence : answer.pick.serve.beside) told += sentence;
  for (const EngineSetting& setting : answer.pick.settings) CHECK(told.find(setting.flag) != std::string::npos);
  CHECK(answer.unpacked_pick.has_value() == answer.result.unpacked_pick.has_value());
  if (answer.unpacked_pick) CHECK(answer.unpacked_pick->serve.command.find("--attn-pack-size") == std::string::npos);
  const bool packs = answer.result.layout_of(answer.result.candidates[answer.result.pick]).pack() > 1;
  CHECK(says(answer.pick.serve, "PR 35703") == packs);
}

TEST_CASE("edge: where caching is the default the option of the mode, which is deprecated, is not named") {
  RecommendQuestion question;
  question.space.packs = {1};
  question.space.modes = {CacheMode::align};
  for (const char* release : {"vllm-0.33", "vllm-2026-06"}) {
    const Scenario scenario = small_scenario(std::string("  release: ") + release + "\n",
                                             "simulate: {trace: {max_requests: 50}}\n");
    const std::string command = recommend_scenario(scenario, question).pick.serve.command;
    CAPTURE(command);
    CHECK(command.find(" --enable-prefix-caching ") != std::string::npos);
    CHECK((command.find("--mamba-cache-mode align") != std::string::npos) == (std::string(release) != "vllm-0.33"));
  }
}

TEST_CASE("law: engines whose rules are read are searched, and those with blocks are told no flag") {
  for (const EngineRules* const rules : all_engine_rules()) {
    if (!rules->source_only) continue;
    CAPTURE(rules->name);
    const Scenario scenario = small_scenario(fmt::format("  release: {}\n", rules->name),
                                             "simulate: {trace: {max_requests: 5}}\n");
    const RecommendAnswer answer = recommend_scenario(scenario, {});
    const bool has_blocks = has_block_index(*rules);
    CHECK(answer.pick.serve.command.empty() == has_blocks);
    for (const EngineSetting& setting : answer.pick.settings) CHECK(setting.flag.empty() == has_blocks);
    for (const PlannedLayout& layout : answer.result.layouts) CHECK(layout.pack() == 1);
  }
}

TEST_CASE("edge: words of a shell") {
  CHECK(shell_word("a-b_c=1,2") == "a-b_c=1,2");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("a b") == "'a b'");
  CHECK(shell_word("it's") == "'it'\\''s'");
}

TEST_CASE("golden: recipes of connectors have chunk, budget and objects of the plan") {
  const ServeCommand serve = serve_of(served_scenario("Qwen3.5-0.8B", "  release: vllm-0.33\n"));
  REQUIRE(serve.recipes.size() == 4);
  const ServeRecipe &own = serve.recipes[0], &lmcache = serve.recipes[1], &mooncake = serve.recipes[2],
                    &nixl = serve.recipes[3];
  CHECK(own.commands == std::vector<std::string>{serve.command + " --kv-offloading-size 40"});
  // A block N of 576 tokens: the budget is 2N - 1.
  CHECK(lmcache.commands[0] ==
        "lmcache server --chunk-size 576 --separate-object-groups --l1-size-gb 40 --eviction-policy LRU");
  CHECK(lmcache.commands[1].find("--max-num-batched-tokens 1151 ") != std::string::npos);
  CHECK(lmcache.commands[1].find(R"('{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both"}')") !=
        std::string::npos);
  CHECK(mooncake.commands.back().rfind("MOONCAKE_CONFIG_PATH=mooncake.json vllm serve", 0) == 0);
  CHECK(nixl.commands.front().rfind("VLLM_SSM_CONV_STATE_LAYOUT=DS vllm serve", 0) == 0);
}

TEST_CASE("edge: a chunk of groups with unequal blocks is a multiple of all, and of heads alone the usual 256") {
  const auto server_of = [](const std::string& model, const std::string& engine) {
    const ServeCommand serve = serve_of(served_scenario(model, "  release: vllm-0.33\n" + engine));
    REQUIRE(serve.recipes.size() == 4);
    return serve.recipes[1].commands.front();
  };
  CHECK(server_of("gpt-oss-20b", "").find("--chunk-size 256 --l1") != std::string::npos);
  // The pools of both ranks.
  CHECK(server_of("Qwen3.5-4B", "  tensor_parallel: 2\n").find("--l1-size-gb 80") != std::string::npos);
}

TEST_CASE("edge: no recipe stands where nothing is kept, where no package was read, or for packs") {
  CHECK(serve_of(served_scenario("Qwen3.5-4B", "  release: vllm-0.33\n  cache_mode: none\n")).recipes.empty());
  CHECK(serve_of(served_scenario("Qwen3.5-4B", "  cache_mode: align\n")).recipes.empty());
  CHECK(serve_of(served_scenario("Qwen3.5-4B", "  release: vllm-0.33\n  attention_pack_size: 2\n")).recipes.empty());
}

TEST_CASE("edge: a drafter's hits are shorter with a connector, and the recipe says so") {
  const ServeCommand serve =
      serve_of(served_scenario("Qwen3.5-4B", "  release: vllm-0.33\n  speculative_tokens: 3\n  mtp_layers: 1\n"));
  REQUIRE(!serve.recipes.empty());
  CHECK(serve.recipes.front().beside.back().find("dropped for the drafter") != std::string::npos);
}
