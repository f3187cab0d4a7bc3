#include "scenarios/hf_config.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "planner/plan.h"
#include "scenario_text.h"
#include "scenarios/json_tree.h"
#include "scenarios/model_import.h"
#include "scenarios/model_library.h"
#include "scenarios/model_reader.h"

namespace hybridkv::test {

namespace {

namespace fs = std::filesystem;

/// The published configurations in tests/data: the fields that matter, with their true values, by name of the model.
std::vector<fs::path> published_configs() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(HYBRIDKV_TEST_DATA "/scenarios/configs"))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  return files;
}

ModelSpec read_back(const std::string& yaml) {
  ReadContext context;
  return read_model_mapping(context, "model", parse_yaml(yaml, {"imported.yaml", "", {}})).model;
}

/// Engines under which every part of a plan is used.
std::vector<EngineSpec> engines() {
  std::vector<EngineSpec> all;
  for (const CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all})
    for (const std::int64_t ranks : {1, 2}) {
      EngineSpec engine;
      engine.cache_mode = mode;
      engine.tensor_parallel = ranks;
      engine.attention_pack_size = ranks;
      engine.mtp_layers = ranks - 1;
      engine.memory_bytes = std::int64_t{20} << 30;
      all.push_back(engine);
    }
  return all;
}

/// The plan, or the planner's refusal.
std::pair<std::optional<CachePlan>, std::string> planned(const ModelSpec& model, const EngineSpec& engine) {
  try {
    return {make_plan(model, engine, LimitsSpec{.max_model_lens = {32'768}}), ""};
  } catch (const SpecError& error) {
    return {std::nullopt, error.what()};
  }
}

}  // namespace

TEST_CASE("golden: published configurations give the plans of the shipped models") {
  int compared = 0;
  for (const fs::path& file : published_configs()) {
    CAPTURE(file.stem().string());
    const ShippedModel* shipped = find_shipped_model(file.stem().string());
    REQUIRE(shipped != nullptr);
    const ModelSpec imported = import_model(file.string(), "").model;
    CHECK(imported.name == shipped->model.name);
    CHECK(imported.layers == shipped->model.layers);
    for (const EngineSpec& engine : engines()) {
      CHECK(planned(imported, engine) == planned(shipped->model, engine));
      compared += planned(imported, engine).first ? 1 : 0;
    }
  }
  CHECK(published_configs().size() >= 10);
  CHECK(compared >= 50);
}

TEST_CASE("law: the model file of a configuration reads back as the same model") {
  for (const fs::path& file : published_configs()) {
    CAPTURE(file.stem().string());
    const ImportedModel imported = import_model(file.string(), "");
    CHECK(read_back(imported.yaml) == imported.model);
  }
}

TEST_CASE("golden: a model file in the style of the shipped ones") {
  const std::string path = HYBRIDKV_TEST_DATA "/scenarios/configs/Nemotron-3-Nano-30B-A3B.json";
  CHECK(
      import_model(path, "nano \"30B\": #1").yaml ==
      "name: \"nano \\\"30B\\\": #1\"\n"
      "source: " +
          path +
          ", model_type 'nemotron_h'\n"
          "dtype: bf16\n"
          "ssm_dtype: fp32\n"
          "kinds:\n"
          "  \"*\": {type: full_attention, query_heads: 32, kv_heads: 2, head_size: 128}\n"
          "  M: {type: mamba2, heads: 64, head_dim: 64, state_size: 128, groups: 8, conv_kernel: 4, chunk_size: 128}\n"
          "  E: {type: none}\n"
          "layers: \"MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME\"\n");
}

TEST_CASE("golden: a scenario names a config as it names a model file") {
  const std::string text =
      "model: {file: configs/granite-4.0-h-small.json}\nengine: {memory: 20 GiB}\nlimits: {max_model_len: 1024}\n";
  const Scenario scenario = read_scenario(parse_scenario(text, "here.yaml", HYBRIDKV_TEST_DATA "/scenarios"));
  CHECK(scenario.model.name == "granite-4.0-h-small");
  CHECK(scenario.model.layers == find_shipped_model("granite-4.0-h-small")->model.layers);
}

TEST_CASE("edge: what the planner refuses is shown where the config says it") {
  const std::string text =
      "model: {file: configs/granite-4.0-h-small.json}\nengine: {memory: 20 GiB, tensor_parallel: 3}\n"
      "limits: {max_model_len: 1024}\n";
  const Scenario scenario = read_scenario(parse_scenario(text, "here.yaml", HYBRIDKV_TEST_DATA "/scenarios"));
  const Place* place = scenario.places.find("model.layers[5].attention.kv_heads");
  REQUIRE(place != nullptr);
  CHECK(place->line == 20);
  CHECK(place->text->name.ends_with("granite-4.0-h-small.json"));
}

TEST_CASE("edge: names of models from paths") {
  CHECK(hf_model_name("some/where/Qwen3.5-4B/config.json") == "Qwen3.5-4B");
  CHECK(hf_model_name("Qwen3.5-4B.json") == "Qwen3.5-4B");
  CHECK(hf_model_name("a/b.c.json") == "b.c");
  CHECK(hf_model_name("/config.json") == "imported");
}

TEST_CASE("edge: a model file in JSON stays a model file") {
  const std::string text =
      "{\"name\": \"x\", \"kinds\": {\"a\": {\"type\": \"full_attention\", \"query_heads\": 1, \"kv_heads\": 1, "
      "\"head_size\": 8}}, \"layers\": \"a4\"}";
  ReadContext context;
  const ModelSpec model = read_model_mapping(context, "model", parse_model_text(text, {"x.json", "", {}})).model;
  CHECK(model.layers.size() == 4);
}

}  // namespace hybridkv::test
