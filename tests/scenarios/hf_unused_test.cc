#include "scenarios/hf_unused.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "engines/vllm/rules_0_33.h"
#include "planner/spec_plans.h"
#include "scenario_text.h"
#include "scenarios/hf_config.h"
#include "scenarios/json_tree.h"
#include "scenarios/model_import.h"
#include "scenarios/model_reader.h"
#include "test_paths.h"

namespace hybridkv::test {

namespace {

/// A config of 8 layers, every fourth of them attention, with further fields: "\"a\": 1,".
std::string config(const std::string& fields) {
  return "{" + fields +
         "\"model_type\": \"qwen3_next\", \"dtype\": \"bfloat16\", \"hidden_size\": 1024, \"num_hidden_layers\": 8, "
         "\"num_attention_heads\": 8, \"num_key_value_heads\": 2, \"head_dim\": 128, \"full_attention_interval\": 4, "
         "\"linear_num_key_heads\": 8, \"linear_num_value_heads\": 16, \"linear_key_head_dim\": 128, "
         "\"linear_value_head_dim\": 128, \"linear_conv_kernel_dim\": 4}";
}

std::vector<std::string> notes_of(const std::string& fields) {
  const YamlNode root = parse_json(config(fields), {"config.json", "", {}});
  return unused_hf_fields(HfFields(root), import_hf_config(root, "x", "config.json"));
}

ModelSpec model_of(const std::string& fields) {
  ReadContext context;
  const YamlNode root = parse_json(config(fields), {"config.json", "", {}});
  return read_model_mapping(context, "model", import_hf_config(root, "x", "config.json")).model;
}

/// One note, which begins like that and says what to do.
void require_note(const std::string& fields, const std::string& beginning, const std::string& way_out) {
  CAPTURE(fields);
  const std::vector<std::string> notes = notes_of(fields);
  REQUIRE(notes.size() == 1);
  CAPTURE(notes[0]);
  CHECK(notes[0].starts_with(beginning + " is not used: "));
  CHECK(notes[0].find(way_out) != std::string::npos);
}

}  // namespace

TEST_CASE("edge: a config whose every field is used has no notes") {
  CHECK(notes_of("").empty());
  CHECK(notes_of("\"sliding_window\": null, \"quantization_config\": {\"quant_method\": \"fp8\"},").empty());
  CHECK(notes_of("\"sliding_window\": 4096, \"use_sliding_window\": false, \"use_cache\": true,").empty());
  for (const auto& entry : std::filesystem::directory_iterator(HYBRIDKV_TEST_DATA "/scenarios/configs")) {
    if (entry.path().extension() != ".json") continue;
    CAPTURE(entry.path());
    const std::string name = entry.path().stem().string();
    const bool has_window = name == "plamo-2-1b", has_mtp = name == "Qwen3.5-27B";
    CHECK(import_model(entry.path().string()).notes.size() == (has_window || has_mtp ? 1 : 0));
  }
}

TEST_CASE("edge: windows that no layer is declared to have are named") {
  require_note("\"sliding_window\": 4096,", "sliding_window '4096'", "type: sliding_window, window_tokens: 4096");
  require_note("\"sliding_window\": 512, \"use_sliding_window\": true,", "sliding_window '512'", "window_tokens: 512");
  require_note("\"attention_chunk_size\": 8192,", "attention_chunk_size '8192'", "type: chunked_local");
  require_note("\"text_config\": {\"sliding_window\": 128},", "sliding_window '128'", "window_tokens: 128");
}

TEST_CASE("golden: layers that are declared to have a window or chunks get it") {
  const std::string types = "\"layer_types\": [\"linear_attention\", \"linear_attention\", \"linear_attention\", "
                            "\"full_attention\", \"linear_attention\", \"linear_attention\", \"linear_attention\", ";
  const auto last = [&](const std::string& fields) {
    std::string text = config(fields);
    const std::string interval = "\"full_attention_interval\": 4, ";
    text.erase(text.find(interval), interval.size());
    const YamlNode root = parse_json(text, {"config.json", "", {}});
    const YamlNode model = import_hf_config(root, "x", "config.json");
    CHECK(unused_hf_fields(HfFields(root), model).empty());
    ReadContext context;
    return read_model_mapping(context, "model", model).model.layers.back().attention.value();
  };
  const AttentionSpec window = last(types + "\"sliding_attention\"], \"sliding_window\": 4096,");
  CHECK(window.kind == AttentionKind::sliding_window);
  CHECK(window.window_tokens == 4096);
  const AttentionSpec chunk = last(types + "\"chunked_attention\"], \"attention_chunk_size\": 8192,");
  CHECK(chunk.kind == AttentionKind::chunked_local);
  CHECK(chunk.window_tokens == 8192);
}

TEST_CASE("golden: V heads of another size are read") {
  const AttentionSpec attention = model_of("\"v_head_dim\": 64,").layers[3].attention.value();
  CHECK(attention.head_size_k == 128);
  CHECK(attention.head_size_v == 64);
  CHECK(model_of("\"v_head_dim\": 128,").layers == model_of("").layers);
}

TEST_CASE("golden: K and V of a checkpoint in 8 bits are those of the model, for engines that follow it") {
  for (const std::string fields :
       {"\"quantization_config\": {\"quant_method\": \"compressed-tensors\", "
        "\"kv_cache_scheme\": {\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"tensor\"}},",
        "\"quantization_config\": {\"quant_method\": \"modelopt\", \"kv_cache_quant_algo\": \"FP8\"},"}) {
    CHECK(notes_of(fields).empty());
    const ModelSpec model = model_of(fields);
    CHECK(model.kv_dtype == DType::fp8_e4m3);
    EngineSpec engine{.rules = &rules_of_vllm_0_33};
    CHECK(kv_dtype_of(model, engine) == DType::fp8_e4m3);
    engine.kv_dtype = DType::bf16;
    CHECK(kv_dtype_of(model, engine) == DType::bf16);
    CHECK(kv_dtype_of(model, EngineSpec{}) == DType::bf16);
  }
  CHECK(!model_of("").kv_dtype);
}

TEST_CASE("edge: a quantised KV cache of another format is named, with the flag that plans it") {
  require_note("\"quantization_config\": {\"quantization\": {\"kv_cache_quant_algo\": \"NVFP4\"}},",
               "quantization_config.quantization.kv_cache_quant_algo 'NVFP4'", "--kv-dtype nvfp4 plans that");
  require_note("\"text_config\": {\"quantization_config\": {\"kv_cache_scheme\": "
               "{\"num_bits\": 8, \"type\": \"int\"}}},",
               "text_config.quantization_config.kv_cache_scheme", "--kv-dtype int8 plans that");
  require_note("\"kv_cache_scheme\": {\"num_bits\": 2},", "kv_cache_scheme", "--kv-dtype plans another");
  require_note("\"kv_cache_dtype\": \"fp8_e5m2\",", "kv_cache_dtype 'fp8_e5m2'", "--kv-dtype fp8_e5m2");
  CHECK(notes_of("\"quantization_config\": {\"kv_cache_scheme\": null}, \"kv_cache_dtype\": \"auto\",").empty());
}

TEST_CASE("edge: an encoder of unknown length is named, with the key that gives it") {
  const YamlNode root = parse_json("{\"model_type\": \"t5\", \"dtype\": \"bfloat16\"}", {"config.json", "", {}});
  const std::vector<std::string> notes = unused_hf_fields(HfFields(root), import_hf_config(root, "x", "config.json"));
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("--set engine.encoder_tokens=") != std::string::npos);
  CHECK(notes_of("\"is_encoder_decoder\": false,").empty());
}

TEST_CASE("golden: what is taken for granted of a class that is not known") {
  const auto notes = [](const std::string& fields) {
    const YamlNode root = parse_json("{\"model_type\": \"my_own\", \"dtype\": \"bfloat16\", \"num_hidden_layers\": 2, "
                                     "\"hidden_size\": 64, \"num_attention_heads\": 4" + fields + "}",
                                     {"config.json", "", {}});
    return unused_hf_fields(HfFields(root), import_hf_config(root, "x", "config.json"));
  };
  const std::vector<std::string> all = notes("");
  REQUIRE(all.size() == 3);
  CHECK(all[0] ==
        "'my_own' is no class of transformers 5.23.0, so it is read by its fields; assumed: all layers are alike "
        "(no layer_types says otherwise)");
  CHECK(all[1].find("each query head has K and V of its own (no num_key_value_heads") != std::string::npos);
  const YamlNode own =
      parse_json("{\"model_type\": \"my_own\", \"dtype\": \"bfloat16\"}", {"config.json", "", {}});
  const HfFields as_llama = hf_fields(own, "llama");
  CHECK(unused_hf_fields(as_llama, import_hf_fields(as_llama, "x", "config.json")).empty());
  CHECK(all[2].find("a head has its share of hidden_size (no head_dim") != std::string::npos);
  CHECK(
      notes(", \"layer_types\": [\"full_attention\", \"full_attention\"], \"num_key_value_heads\": 2, \"head_dim\": 8")
          .empty());
}

TEST_CASE("edge: multi-token-prediction layers are named under every name that configs give them") {
  for (const std::string name : {"num_nextn_predict_layers", "mtp_num_hidden_layers", "mtp_num_layers",
                                 "num_mtp_layers", "n_mtp_layers", "num_mtp_modules"}) {
    require_note("\"" + name + "\": 2,", name + " '2'", "--set engine.mtp_layers=2");
    CHECK(notes_of("\"" + name + "\": 0,").empty());
    CHECK(notes_of("\"" + name + "\": null,").empty());
  }
  require_note("\"text_config\": {\"mtp_num_hidden_layers\": 1},", "mtp_num_hidden_layers '1'",
               "--set engine.speculative_tokens=1");
}

TEST_CASE("edge: a config without a dtype names the flag that gives it, and the flag wins over the config") {
  std::string text = config("");
  const std::string dtype = "\"dtype\": \"bfloat16\", ";
  text.erase(text.find(dtype), dtype.size());
  const YamlNode root = parse_json(text, {"config.json", "", {}});
  CHECK(error_of([&] { import_hf_config(root, "x", "config.json"); }).find("--dtype bf16") != std::string::npos);
  CHECK(import_hf_config(root, "x", "config.json", DType::fp16).find("dtype")->text == "fp16");
  const YamlNode declared = parse_json(config(""), {"config.json", "", {}});
  CHECK(import_hf_config(declared, "x", "config.json", DType::fp32).find("dtype")->text == "fp32");
}

}  // namespace hybridkv::test
