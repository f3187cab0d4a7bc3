// Command lines of engines, whatever scenario they were planned from; tests/ask/serve_command_test.cc has whole ones.
#include "engines/serve.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engines/llama_cpp/rules.h"
#include "engines/sglang/rules.h"
#include "engines/tensorrt_llm/rules.h"
#include "engines/vllm/rules.h"
#include "planner/group_settings.h"
#include "planner/plan.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

const LimitsSpec limits{.max_model_lens = {32'768}};

EngineSpec spec_of(const EngineRules& rules) {
  EngineSpec spec{.tensor_parallel = 2, .cache_mode = CacheMode::align, .memory_bytes = 40 * gib};
  spec.rules = &rules;
  spec.strategy = rules.strategy;
  return spec;
}

ServeCommand serve(const ModelSpec& model, const EngineSpec& engine, const std::vector<EngineSetting>& settings = {}) {
  const SchedulerSettings scheduler;
  return serve_command({model, engine, limits, scheduler, make_plan(model, engine, limits), settings});
}

bool has_own_flag(const EngineSpec& engine, const std::string& flag) {
  const std::vector<EngineSetting> settings = own_settings(engine);
  return std::any_of(settings.begin(), settings.end(), [&](const EngineSetting& one) { return one.flag == flag; });
}

/// Of TensorRT-LLM: 40 GiB do not hold the states of as many requests as it takes by default.
EngineSpec spec_of_64_requests() {
  EngineSpec engine = spec_of(rules_of_tensorrt_llm);
  engine.own.set(group_key::max_batch_size, 64);
  return engine;
}

bool says_beside(const EngineSpec& engine, const std::string& sentence) {
  const std::vector<std::string> beside = serve(qwen35_397b(), engine).beside;
  return std::find(beside.begin(), beside.end(), sentence) != beside.end();
}

std::string mode_flag(const EngineRules& rules) {
  const CachePlan plan = make_plan(qwen35_397b(), spec_of(rules), limits);
  const CacheGeometry geometry{.state_groups = 1};
  for (const EngineSetting& setting : block_settings({plan, geometry, {}, {}, {}}))
    if (setting.key == "engine.cache_mode") return setting.flag;
  return "none";
}

}  // namespace

TEST_CASE("golden: prefix caching selects mode align where that is the default, else the mode is said") {
  CHECK(mode_flag(rules_of_vllm_0_33) == "--enable-prefix-caching");
  CHECK(mode_flag(rules_of_vllm_2026_06) == "--enable-prefix-caching --mamba-cache-mode align");
}

TEST_CASE("golden: a model is served from its own repository, or stands for what is not known") {
  ModelSpec model = qwen35_397b();
  model.name = "Qwen3.5-397B-A17B";
  model.source = "config.json of Qwen/Qwen3.5-397B-A17B on Hugging Face.";
  const ServeCommand own = serve(model, spec_of(rules_of_vllm_0_33));
  CHECK(own.command.starts_with("vllm serve Qwen/Qwen3.5-397B-A17B --tensor-parallel-size 2 --max-model-len 32768"));
  model.name = "Another-397B";
  const ServeCommand other = serve(model, spec_of(rules_of_vllm_0_33));
  CHECK(other.command.starts_with("vllm serve Another-397B "));
  REQUIRE_FALSE(other.beside.empty());
  CHECK(other.beside.front().starts_with("Another-397B stands for the folder or the repository of the model"));
}

TEST_CASE("golden: an engine with an index of its own says its choices itself") {
  const EngineSpec engine = spec_of(rules_of_sglang_0_5_23);
  const std::vector<EngineSetting> settings = own_settings(engine);
  REQUIRE(settings.size() >= 4);
  CHECK(settings[1].flag == "--mamba-radix-cache-strategy extra_buffer");
  const ServeCommand served = serve(qwen35_397b(), engine, settings);
  CHECK(served.command.starts_with("python -m sglang.launch_server --model-path "));
  CHECK(served.command.find(" --mamba-radix-cache-strategy extra_buffer ") != std::string::npos);
}

TEST_CASE("edge: a strategy that the engine has not has no command line") {
  EngineSpec engine = spec_of(rules_of_vllm_0_33);
  engine.strategy = Strategy::small_pages;
  const ServeCommand served = serve(qwen35_397b(), engine);
  CHECK(served.command.empty());
  CHECK(served.beside.front().find("has no strategy small_pages; it is modelled") != std::string::npos);
}

TEST_CASE("edge: that leaves are pruned as before a fix is said beside the command line where that was asked for") {
  EngineSpec engine = spec_of_64_requests();
  const std::string sentence =
      "engine.prunes_stale_leaves is no setting of the engine: take a build from before PR 17323.";
  CHECK_FALSE(says_beside(engine, sentence));
  engine.own.set(group_key::prunes_stale_leaves, true);
  CHECK(says_beside(engine, sentence));
}

TEST_CASE("edge: that blocks are reused and no state is kept is said beside the command line of TensorRT-LLM") {
  EngineSpec engine = spec_of_64_requests();
  const std::string sentence = "Block reuse is on and no snapshot is set, so that it finds nothing.";
  CHECK(says_beside(engine, sentence));
  engine.cache_mode = CacheMode::none;
  CHECK_FALSE(says_beside(engine, sentence));
  engine.cache_mode = CacheMode::align;
  engine.own.set(group_key::offsets_from_end, {0});
  CHECK_FALSE(says_beside(engine, sentence));
}

TEST_CASE("golden: the share of states stands where the first recurrent layer does among the kinds of layers") {
  EngineSpec engine = spec_of_64_requests();
  engine.state_memory_ratio = 0.25;  // 0.25 / 1.25 of the memory
  ModelSpec model = qwen35_397b();
  CHECK(serve(model, engine).command.find("pool_ratio: [0.2, 0.8]") != std::string::npos);
  // The fourth layer, which is the first with attention, now comes first.
  std::rotate(model.layers.begin(), model.layers.begin() + 3, model.layers.end());
  CHECK(serve(model, engine).command.find("pool_ratio: [0.8, 0.2]") != std::string::npos);
}

TEST_CASE("golden: what of a scenario follows from the machine is named beside the command line of vLLM") {
  EngineSpec engine = spec_of(rules_of_vllm_0_33);
  engine.concurrent_batches = 1;
  const std::vector<std::string> beside = serve(qwen35_397b(), engine).beside;
  CHECK(std::count(beside.begin(), beside.end(),
                   "No flag says engine.concurrent_batches: it follows from the machine, its backends and the "
                   "build.") == 1);
}

TEST_CASE("golden: where nothing shall be found again llama.cpp is told to keep no checkpoint and no prompt") {
  EngineSpec engine = spec_of(rules_of_llama_cpp);
  CHECK(has_own_flag(engine, "--ctx-checkpoints 32"));
  CHECK(has_own_flag(engine, "--cache-ram 8192"));
  engine.cache_mode = CacheMode::none;
  CHECK(has_own_flag(engine, "--ctx-checkpoints 0"));
  CHECK(has_own_flag(engine, "--cache-ram 0"));
}

TEST_CASE("golden: of the places at which states are kept TensorRT-LLM is told those alone that were given") {
  EngineSpec engine = spec_of(rules_of_tensorrt_llm);
  const std::size_t without = own_settings(engine).size();
  engine.own.set(group_key::offsets_from_start, {512, 1000});
  CHECK(own_settings(engine).size() == without + 1);
  CHECK(has_own_flag(engine, "additional_snapshot_offsets_from_start: [512, 1000]"));
  engine.own.set(group_key::offsets_from_start, {});
  engine.own.set(group_key::offsets_from_end, {0});
  CHECK(own_settings(engine).size() == without + 1);
  CHECK(has_own_flag(engine, "additional_snapshot_offsets_from_end: [0]"));
}
