#include <doctest/doctest.h>

#include "scenario_text.h"

namespace hybridkv::test {

namespace {

/// The main scenario with overrides.
ScenarioFile overridden(std::initializer_list<const char*> assignments) {
  ScenarioFile file = load_scenario("qwen3.5-397b");
  for (const char* assignment : assignments) apply_override(file, assignment);
  return file;
}

std::string override_error(const char* assignment) {
  return error_of([&] { read_scenario(overridden({assignment})); });
}

}  // namespace

TEST_CASE("golden: an override replaces a value, a list or a mapping, or adds a key") {
  const Scenario scenario = read_scenario(
      overridden({"engine.tensor_parallel=4", "engine.memory=80 GiB", "engine.attention_pack_size=1..3",
                  "limits.load_tokens=[5, 6]", "workspace={query_tokens: 1, shared_blocks: 2, block_size_tokens: 3}",
                  "engine.draft.layers=2", "model=Qwen3.5-4B", "engine.tensor_parallel=1",
                  "engine.draft.attention={query_heads: 2, kv_heads: 2, head_size: 8, window_tokens: 9}"}));
  CHECK(scenario.engine.tensor_parallel == 1);
  CHECK(scenario.engine.memory_bytes == std::int64_t{80} << 30);
  CHECK(scenario.pack_sizes == std::vector<std::int64_t>{1, 2, 3});
  CHECK(scenario.limits.load_tokens == std::vector<std::int64_t>{5, 6});
  CHECK(scenario.workspace == WorkspaceSpec{1, 2, 3, 64, DType::bf16});
  CHECK(scenario.engine.draft ==
        DraftSpec{2, AttentionSpec{AttentionKind::sliding_window, 2, 2, 8, 8, 9}});
  CHECK(scenario.model.name == "Qwen3.5-4B");
  CHECK(scenario.engine.cache_mode == CacheMode::align);
}

TEST_CASE("golden: what an override sets, an error shows as the flag") {
  const Scenario scenario = read_scenario(overridden({"engine.tensor_parallel=3", "workspace.dtype=fp32"}));
  CHECK(std::string(located(SpecError("engine.tensor_parallel", "3 ranks fit nothing"), scenario).what()) ==
        "--set engine.tensor_parallel=3: engine.tensor_parallel: 3 ranks fit nothing");
  CHECK(std::string(located(SpecError("engine.memory_bytes", "no"), scenario).what())
            .starts_with("shipped:qwen3.5-397b.yaml:"));
}

TEST_CASE("golden: a flag of its own is shown as written") {
  ScenarioFile file = load_scenario("qwen3.5-397b");
  apply_override(file, "engine.attention_pack_size", "[1,2,0]", "--pack 1,2,0");
  CHECK(error_of([&] { read_scenario(file); }) ==
        "--pack 1,2,0: engine.attention_pack_size: 0 is too small; allowed: whole numbers from 1 to 1000000");
}

TEST_CASE("edge: overrides that name nothing, say nothing or go nowhere") {
  CHECK(override_error("engine.tensor_parallel") ==
        "--set engine.tensor_parallel: write KEY=VALUE, like engine.tensor_parallel=4");
  CHECK(override_error("=4") == "--set =4: '' is no key; write KEY=VALUE, like engine.tensor_parallel=4");
  CHECK(override_error("engine..x=4") ==
        "--set engine..x=4: 'engine..x' is no key; write KEY=VALUE, like engine.tensor_parallel=4");
  CHECK(override_error("engine.tensor_parallel=") ==
        "--set engine.tensor_parallel=: engine.tensor_parallel: has no value; give a whole number or leave "
        "the key out");
  CHECK(override_error("engine.tensor_parallel=[1") ==
        "--set engine.tensor_parallel=[1: broken YAML: end of sequence flow not found");
  CHECK(override_error("engine.tensor_parallel=x") ==
        "--set engine.tensor_parallel=x: engine.tensor_parallel: 'x' is not a whole number; allowed: whole numbers "
        "from 1 to 1000000");
  CHECK(override_error("engine.tensor_paralel=4") ==
        "--set engine.tensor_paralel=4: unknown key 'tensor_paralel' in engine; did you mean 'tensor_parallel'?");
  CHECK(override_error("engin.tensor_parallel=4") ==
        "--set engin.tensor_parallel=4: unknown key 'engin' in a scenario; did you mean 'engine'?");
  CHECK(override_error("model.kinds.a=3") ==
        "--set model.kinds.a=3: model is the text 'Qwen3.5-397B-A17B', which has no key 'kinds'; set model as a whole");
  CHECK(override_error("engine.attention_pack_size.x=3") ==
        "--set engine.attention_pack_size.x=3: engine.attention_pack_size is a list, which has no key 'x'; set "
        "engine.attention_pack_size as a whole");
  CHECK(override_error("model={file: nowhere.yaml}") ==
        "--set model={file: nowhere.yaml}: model.file: 'nowhere.yaml': no such file");
  CHECK(override_error("model={name: x, kinds: {a: {type: none}}, layers: ab}") ==
        "--set model={name: x, kinds: {a: {type: none}}, layers: ab}: model.layers: in 'ab': 'b' is no kind; known "
        "kinds: a");
}

TEST_CASE("edge: a flag is not the place of what it does not say") {
  ScenarioFile file = parse_scenario("{}", "--model Qwen3.5-4B");
  apply_override(file, "model", "Qwen3.5-4B", "--model Qwen3.5-4B");
  apply_override(file, "engine.memory", "40G", "--memory 40G");
  apply_override(file, "limits.max_model_len", "32k", "--max-model-len 32k");
  const Scenario scenario = read_scenario(file);
  const auto text = [&](const char* path) { return std::string(located(SpecError(path, "no"), scenario).what()); };
  CHECK(text("engine.memory") == "--memory 40G: engine.memory: no");
  CHECK(text("engine.cache_mode").find("--memory") == std::string::npos);
}

}  // namespace hybridkv::test
