#include "scenarios/hf_config.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <filesystem>

#include "planner/plan.h"
#include "scenario_text.h"
#include "scenarios/json_tree.h"
#include "scenarios/model_import.h"
#include "scenarios/model_library.h"
#include "scenarios/model_reader.h"
#include "scenarios/model_tree.h"
#include "test_paths.h"

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

/// A model file without its parameters, which hf_parameters_test.cc checks.
std::string layers_part(const std::string& yaml) { return yaml.substr(0, yaml.find("parameters:\n")); }

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
    const ModelSpec imported = import_model(file.string()).model;
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
    const ImportedModel imported = import_model(file.string());
    CHECK(read_back(imported.yaml) == imported.model);
  }
}

TEST_CASE("law: any name of a model is read back from its model file") {
  const std::string config = HYBRIDKV_TEST_DATA "/scenarios/configs/Bamba-9B.json";
  for (const char* name :
       {"~", "null", "1", "0x1", "yes", "true", "- a", "a: b", "#x", "'", "*", "&a", "?", "{", " a ", "é"}) {
    CAPTURE(name);
    CHECK(read_back(import_model(config, {.name = name}).yaml).name == name);
  }
  CHECK(rc::check("printable names", [&] {
    const auto name = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange<char>(' ', 127)));
    RC_ASSERT(read_back(import_model(config, {.name = name}).yaml).name == name);
  }));
}

TEST_CASE("golden: a model file in the style of the shipped ones") {
  const std::string path = HYBRIDKV_TEST_DATA "/scenarios/configs/Nemotron-3-Nano-30B-A3B.json";
  CHECK(
      layers_part(import_model(path, {.name = "nano \"30B\": #1"}).yaml) ==
      "name: \"nano \\\"30B\\\": #1\"\n"
      "source: " +
          path +
          ", model_type 'nemotron_h'\n"
          "dtype: bf16\n"
          "ssm_dtype: fp32\n"
          "ssm_cache_dtype: fp32\n"
          "kinds:\n"
          "  \"*\": {type: full_attention, query_heads: 32, kv_heads: 2, head_size: 128}\n"
          "  M: {type: mamba2, heads: 64, head_dim: 64, state_size: 128, groups: 8, conv_kernel: 4, chunk_size: 128}\n"
          "  E: {type: none}\n"
          "layers: \"MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME\"\n");
}

TEST_CASE("golden: kinds of configs that have no shipped model of their own") {
  const auto imported = [](std::string_view config) {
    const YamlNode root = parse_json(config, {"config.json", "", {}});
    return layers_part(model_yaml(import_hf_config(root, "x", "config.json")));
  };
  const std::string head = "name: x\nsource: config.json, model_type ";
  CHECK(
      imported("{\"model_type\": \"kimi_linear\", \"dtype\": \"bfloat16\", \"num_hidden_layers\": 4, "
               "\"num_attention_heads\": 32, \"kv_lora_rank\": 512, \"qk_rope_head_dim\": 64, \"linear_attn_config\": "
               "{\"full_attn_layers\": [4], \"kda_layers\": [1, 2, 3], \"num_heads\": 32, \"head_dim\": 128, "
               "\"short_conv_kernel_size\": 4}}") ==
      head +
          "'kimi_linear'\ndtype: bf16\nkinds:\n"
          "  a: {type: mla, query_heads: 32, kv_lora_rank: 512, rope_dim: 64}\n"
          "  m: {type: kda, heads: 32, head_dim: 128, conv_kernel: 4}\nlayers: \"mmma\"\n");
  CHECK(imported("{\"model_type\": \"bailing_hybrid\", \"dtype\": \"bfloat16\", \"num_hidden_layers\": 24, "
                 "\"layer_group_size\": 4, \"num_attention_heads\": 16, \"head_dim\": 128, \"kv_lora_rank\": 512, "
                 "\"qk_rope_head_dim\": 64, \"short_conv_kernel_size\": 4}") ==
        head +
            "'bailing_hybrid'\ndtype: bf16\nkinds:\n"
            "  a: {type: mla, query_heads: 16, kv_lora_rank: 512, rope_dim: 64}\n"
            "  m: {type: kda, heads: 16, head_dim: 128, conv_kernel: 4, log_decay_limit: 5}\nlayers: \"(mmma)6\"\n");
  CHECK(imported(
            "{\"model_type\": \"bailing_moe_linear\", \"dtype\": \"bfloat16\", \"num_hidden_layers\": 20, "
            "\"layer_group_size\": 5, \"num_attention_heads\": 16, \"num_key_value_heads\": 4, \"head_dim\": 128}") ==
        head +
            "'bailing_moe_linear'\ndtype: bf16\nkinds:\n"
            "  a: {type: full_attention, query_heads: 16, kv_heads: 4, head_size: 128}\n"
            "  m: {type: linear, heads: 16, head_dim: 128}\nlayers: \"(m4a)4\"\n");
  CHECK(imported("{\"model_type\": \"lfm2-vl\", \"dtype\": \"bfloat16\", \"text_config\": {\"model_type\": \"lfm2\", "
                 "\"num_hidden_layers\": 4, \"full_attn_idxs\": [2], \"hidden_size\": 64, \"num_attention_heads\": 8, "
                 "\"num_key_value_heads\": 2, \"conv_L_cache\": 3}}") ==
        head +
            "'lfm2'\ndtype: bf16\nkinds:\n"
            "  a: {type: full_attention, query_heads: 8, kv_heads: 2, head_size: 8}\n"
            "  m: {type: short_conv, channels: 64, conv_kernel: 3}\nlayers: \"mmam\"\n");
}

TEST_CASE("golden: the ways in which Mamba heads are declared") {
  const auto mamba = [](const std::string& fields) {
    const std::string config =
        "{\"model_type\": \"granitemoehybrid\", \"dtype\": \"float16\", \"layer_types\": "
        "[\"mamba\"], \"hidden_size\": 64, \"mamba_n_heads\": 8, \"mamba_d_state\": 16, "
        "\"mamba_n_groups\": 1, \"mamba_d_conv\": 4, \"mamba_chunk_size\": 256" +
        fields + "}";
    std::string text;
    const std::string error = error_of([&] {
      const YamlNode model = import_hf_config(parse_json(config, {"config.json", "", {}}), "x", "config.json");
      text = model.find("kinds")->find("m")->find("head_dim")->text;
    });
    return text.empty() ? error.substr(error.find(": ") + 2) : text;
  };
  CHECK(mamba(", \"mamba_d_head\": 16, \"mamba_expand\": 2") == "16");
  CHECK(mamba(", \"mamba_d_head\": \"auto\", \"mamba_expand\": 2") == "16");
  CHECK(mamba(", \"mamba_expand\": 4") == "32");
  CHECK(mamba(", \"mamba_d_ssm\": 24, \"mamba_expand\": 2") == "3");
  CHECK(mamba(", \"mamba_d_head\": 16") == "16");
  CHECK(mamba(", \"mamba_d_head\": 15, \"mamba_expand\": 2")
            .starts_with(
                "mamba_d_head: 8 heads of 15 channels are 120, but mamba_expand * hidden_size in line 1 is 128; one "
                "of them is wrong"));
  CHECK(mamba(", \"mamba_d_ssm\": 25")
            .starts_with("mamba_d_ssm: 25 channels are no multiple of 8 mamba heads (mamba_n_heads in line 1)"));
  CHECK(mamba("") == "16");  // of twice hidden_size, as the class says
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

TEST_CASE("golden: what a class makes of its width holds for its width alone") {
  const auto kinds = [](const std::string& config) {
    const std::string yaml =
        model_yaml(import_hf_config(parse_json(config, {"config.json", "", {}}), "x", "config.json"));
    const std::size_t begin = yaml.find("  a: "), end = yaml.find('\n', begin);
    return yaml.substr(begin, end - begin);
  };
  const std::string head = "{\"model_type\": \"llama\", \"dtype\": \"bfloat16\"";
  CHECK(kinds(head + "}") == "  a: {type: full_attention, query_heads: 32, kv_heads: 32, head_size: 128}");
  CHECK(kinds(head + ", \"hidden_size\": 1024, \"num_attention_heads\": 16}") ==
        "  a: {type: full_attention, query_heads: 16, kv_heads: 16, head_size: 64}");
  // What stands beside a known language model is of the model around it.
  CHECK(kinds("{\"model_type\": \"llava\", \"head_dim\": 999, \"dtype\": \"bfloat16\", \"text_config\": "
              "{\"model_type\": \"llama\", \"num_hidden_layers\": 2}}") ==
        "  a: {type: full_attention, query_heads: 32, kv_heads: 32, head_size: 128}");
}

TEST_CASE("golden: layers that share K and V, an index, or have heads of their own") {
  const auto model = [](const std::string& fields) {
    const std::string config = "{\"dtype\": \"bfloat16\", " + fields + "}";
    const std::string yaml =
        model_yaml(import_hf_config(parse_json(config, {"config.json", "", {}}), "x", "config.json"));
    const std::size_t begin = yaml.find("kinds:"), end = yaml.find("parameters:");
    return yaml.substr(begin, end - begin);
  };
  CHECK(model("\"model_type\": \"gemma3n_text\", \"num_hidden_layers\": 10, \"num_kv_shared_layers\": 4") ==
        "kinds:\n"
        "  w: {type: sliding_window, query_heads: 8, kv_heads: 2, head_size: 256, window_tokens: 512}\n"
        "  a: {type: full_attention, query_heads: 8, kv_heads: 2, head_size: 256}\n"
        "  s: {type: shared_kv, query_heads: 8, of: w}\n"
        "  b: {type: shared_kv, query_heads: 8, of: a}\n"
        "layers: \"w4awsssb\"\n");
  CHECK(
      model(
          "\"model_type\": \"hy_v4\", \"num_hidden_layers\": 3, \"indexer_types\": [\"full\", \"shared\", \"full\"]") ==
      "kinds:\n"
      "  i: {type: mla, query_heads: 32, kv_lora_rank: 512, rope_dim: 64, indexer_bytes_per_entry: 132}\n"
      "  a: {type: mla, query_heads: 32, kv_lora_rank: 512, rope_dim: 64}\n"
      "layers: \"iai\"\n");
  CHECK(model("\"model_type\": \"gemma4_text\", \"num_hidden_layers\": 6") ==
        "kinds:\n"
        "  w: {type: sliding_window, query_heads: 8, kv_heads: 4, head_size: 256, window_tokens: 512}\n"
        "  a: {type: full_attention, query_heads: 8, kv_heads: 4, head_size: 512}\n"
        "layers: \"w5a\"\n");
  CHECK(model("\"model_type\": \"gemma4_text\", \"num_hidden_layers\": 2, \"layer_types\": [\"full_attention\", "
              "\"full_attention\"], \"per_layer_config\": {\"01\": {\"head_dim\": 64}}") ==
        "kinds:\n"
        "  a: {type: full_attention, query_heads: 8, kv_heads: 4, head_size: 256}\n"
        "  b: {type: full_attention, query_heads: 8, kv_heads: 4, head_size: 64}\n"
        "layers: \"ab\"\n");
}

TEST_CASE("golden: keys of an indexer of blocks are in bf16, one head of them unless a field says more") {
  const auto entry_of = [](const std::string& fields) {
    const std::string config =
        "{\"model_type\": \"my_own\", \"dtype\": \"bfloat16\", \"layer_types\": [\"indexed_attention\"], "
        "\"num_attention_heads\": 8, \"head_dim\": 64, \"index_head_dim\": 64" + fields + "}";
    const YamlNode model = import_hf_config(parse_json(config, {"config.json", "", {}}), "x", "config.json");
    return model.find("kinds")->find("i")->find("indexer_bytes_per_entry")->text;
  };
  CHECK(entry_of("") == "68");  // 8 bits a channel and a scale of 4 bytes
  CHECK(entry_of(", \"index_block_size\": 128") == "128");
  CHECK(entry_of(", \"index_block_size\": 128, \"indexer_kv_heads\": 2") == "256");
}

TEST_CASE("golden: an embedding of n-grams is a convolution over all streams with taps some tokens apart") {
  // Qwen4 by its class: 4 streams of 2048 channels; 4 taps 3 tokens apart reach over 3 * 3 + 1 tokens.
  const std::string config =
      "{\"model_type\": \"qwen4_exp_text\", \"dtype\": \"bfloat16\", \"layer_types\": [\"linear_attention\", "
      "\"linear_attention\"], \"ple_layer_ids\": [0, 1]}";
  const std::string yaml =
      model_yaml(import_hf_config(parse_json(config, {"config.json", "", {}}), "x", "config.json"));
  CHECK(yaml.find("  e: {type: short_conv, channels: 8192, conv_kernel: 10, replicated: true}\n") != std::string::npos);
  CHECK(yaml.find("\nauxiliary: ee\n") != std::string::npos);
}

TEST_CASE("golden: a config read as another class") {
  const std::string config = "{\"model_type\": \"my_own\", \"dtype\": \"bfloat16\", \"num_hidden_layers\": 4}";
  const YamlNode root = parse_json(config, {"config.json", "", {}});
  const std::string yaml = model_yaml(import_hf_config(root, "x", "config.json", {}, "qwen3_next"));
  CHECK(yaml.find("m: {type: gdn, key_heads: 16, value_heads: 32, key_head_dim: 128") != std::string::npos);
  CHECK(yaml.find("layers: \"mmma\"") != std::string::npos);
  // What its own class says is forgotten: a llama has 32 heads of 128.
  const std::string known = "{\"model_type\": \"llama\", \"dtype\": \"bfloat16\", \"num_hidden_layers\": 4}";
  const std::string of_llama = model_yaml(
      import_hf_config(parse_json(known, {"config.json", "", {}}), "x", "config.json", {}, "qwen3_next"));
  CHECK(of_llama.substr(of_llama.find("kinds:")) == yaml.substr(yaml.find("kinds:")));
  CHECK(error_of([&] { import_hf_config(root, "x", "config.json", {}, "qwen3_nexd"); }) ==
        "'qwen3_nexd' is no class of transformers 5.23.0; did you mean 'qwen3_next' or 'qwen4_exp'?");
}

TEST_CASE("golden: the field behind each number, and what Transformers keeps otherwise") {
  const fs::path folder = HYBRIDKV_TEST_DATA "/scenarios/published";
  const ImportedModel model = import_model((folder / "qwen3-next-interval.json").string());
  const auto number = [&](const std::string& key) {
    for (const ImportedNumber& found : model.numbers)
      if (found.key == key) return found.field + " = " + found.value + ", " + found.origin;
    return std::string("none");
  };
  CHECK(number("kinds.a.kv_heads") == "num_key_value_heads = 2, class default of qwen3_next in transformers 5.23.0");
  CHECK(number("layers").starts_with("full_attention_interval = (mmma)12, "));
  CHECK(number("layers").find("qwen3-next-interval.json:1:") != std::string::npos);
  REQUIRE(model.readings.size() == 1);
  CHECK(model.readings[0] ==
        "m: engines keep 3 rows of the convolution (taps - 1) and one for each draft token; Transformers "
        "keeps 4, and the recurrent state in float32 whatever the model's dtype");
}

TEST_CASE("golden: the template is a model file of nine lines that plans") {
  const std::string text = model_template();
  CHECK(std::count(text.begin(), text.end(), '\n') == 9);
  CHECK(read_back(text).layers.size() == 48);
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
