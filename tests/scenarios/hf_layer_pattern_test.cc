#include "scenarios/hf_layer_pattern.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "scenario_text.h"
#include "scenarios/json_tree.h"

namespace hybridkv::test {

namespace {

/// The layers of a config as one character each: '.' none, a attention, w sliding, m recurrent, b both, c chunked,
/// i indexed, s both with a window, C and H compressed, o a window of the output.
std::string layers_of(const std::string& config) {
  const YamlNode root = parse_json(config, {"config.json", "", {}});
  std::string text;
  for (const HfLayer layer : read_hf_pattern(HfFields(root)).layers) text += ".awmbcisCHo"[static_cast<int>(layer)];
  return text;
}

/// The first line of the error.
std::string declared_error(const std::string& config) {
  const std::string error = error_of([&] { layers_of(config); });
  return error.substr(0, error.find('\n'));
}

}  // namespace

TEST_CASE("golden: every published form of a layer pattern") {
  CHECK(layers_of("{\"layer_types\": [\"linear_attention\", \"full_attention\", \"conv\", \"sliding_attention\"]}") ==
        "mamw");
  CHECK(layers_of("{\"layers_block_type\": [\"mamba\", \"hybrid\", \"attention\", \"mlp\", \"moe\"]}") == "mba..");
  CHECK(layers_of("{\"hybrid_override_pattern\": \"M-M*E\"}") == "m.ma.");
  CHECK(layers_of("{\"num_hidden_layers\": 9, \"full_attention_interval\": 4}") ==
        "mmmammmam");
  CHECK(layers_of("{\"num_hidden_layers\": 5, \"attn_layer_indices\": [0, 3]}") == "ammam");
  CHECK(layers_of("{\"num_hidden_layers\": 5, \"full_attn_idxs\": [4, 1]}") == "mamma");
  CHECK(layers_of("{\"num_hidden_layers\": 5, \"hybrid_layer_ids\": [1]}") == "mbmmm");
  CHECK(layers_of("{\"num_hidden_layers\": 16, \"attn_layer_period\": 8, \"attn_layer_offset\": 4}") ==
        "mmmmammmmmmmammm");
  CHECK(layers_of("{\"num_hidden_layers\": 4, \"linear_attn_config\": {\"kda_layers\": [1, 2, 3], "
                  "\"full_attn_layers\": [4]}}") == "mmma");
  CHECK(layers_of("{\"num_hidden_layers\": 3, \"linear_attn_config\": {\"kda_layers\": [1, 3]}}") == "mam");
  CHECK(layers_of("{\"attn_type_list\": [0, 0, 1]}") == "mma");
  CHECK(layers_of("{\"num_hidden_layers\": 8, \"layer_group_size\": 3}") == "mmammaaa");
  CHECK(layers_of("{\"num_hidden_layers\": 6, \"mamba_step\": 2}") == "mamama");
  CHECK(layers_of("{\"num_hidden_layers\": 3, \"mamba_step\": 8}") == "mma");
  CHECK(layers_of("{\"num_hidden_layers\": 3, \"mamba_step\": 2, \"mamba_enabled\": false}") ==
        "aaa");
  CHECK(layers_of("{\"hybrid_layer_pattern\": [0, 1, 1]}") == "aww");
  CHECK(layers_of("{\"num_hidden_layers\": 5, \"block_types\": [\"recurrent\", \"attention\"]}") == "mamam");
  CHECK(layers_of("{\"num_hidden_layers\": 3, \"block_types\": [\"attention\"], \"attention_window_size\": 8}") ==
        "www");
  CHECK(layers_of("{\"num_hidden_layers\": 7, \"sliding_window_pattern\": 3}") == "wwawwaw");
  CHECK(layers_of("{\"num_hidden_layers\": 5, \"sliding_window_pattern\": \"LLLG\"}") == "wwwaw");
  CHECK(layers_of("{\"sparse_attention_config\": {\"sparse_attention_freq\": [0, 1]}}") == "ai");
  CHECK(layers_of("{\"attention_chunk_size\": 8, \"no_rope_layers\": [1, 0]}") == "ca");
  CHECK(layers_of("{\"num_hidden_layers\": 4, \"use_sliding_window\": true, \"max_window_layers\": 3}") == "aaaw");
  CHECK(layers_of("{\"layer_types\": [\"indexed_attention\", \"hybrid_sliding\", \"compressed_sparse_attention\", "
                  "\"heavily_compressed_attention\", \"reference_sliding_attention\"]}") == "isCHo");
}

TEST_CASE("golden: layers of a config that says nothing of them") {
  CHECK(layers_of("{\"num_hidden_layers\": 3}") == "aaa");
  CHECK(layers_of("{\"num_hidden_layers\": 3, \"sliding_window\": 8}") == "www");
  CHECK(layers_of("{\"num_hidden_layers\": 3, \"sliding_window\": 8, \"use_sliding_window\": false}") == "aaa");
  CHECK(layers_of("{\"num_hidden_layers\": 3, \"attention_chunk_size\": 8}") == "ccc");
  CHECK(layers_of("{\"num_hidden_layers\": 2, \"num_loops\": 3}") == "aaaaaa");
  CHECK(layers_of("{\"n_layer\": 2}") == "aa");
}

TEST_CASE("golden: what the class of the model_type says where the config is silent") {
  CHECK(layers_of("{\"model_type\": \"falcon_h1\", \"num_hidden_layers\": 3}") == "bbb");
  CHECK(layers_of("{\"model_type\": \"gemma3_text\", \"num_hidden_layers\": 8}") == "wwwwwaww");
  CHECK(layers_of("{\"model_type\": \"gemma4_text\", \"num_hidden_layers\": 8}") == "wwwwwawa");  // the last is forced
  CHECK(layers_of("{\"model_type\": \"qwen3_5_text\", \"num_hidden_layers\": 5}") == "mmmam");
  CHECK(layers_of("{\"model_type\": \"mistral\", \"num_hidden_layers\": 2}") == "ww");
  CHECK(layers_of("{\"model_type\": \"mistral\", \"num_hidden_layers\": 2, \"sliding_window\": null}") == "aa");
  CHECK(layers_of("{\"model_type\": \"t5\", \"num_layers\": 9, \"num_decoder_layers\": 2}") == "aa");
  CHECK(layers_of("{\"model_type\": \"longcat_flash\", \"num_layers\": 2}") == "aaaa");
  CHECK(layers_of("{\"model_type\": \"gemma3\"}").size() == 26);
  for (const std::string type : {"rwkv", "rwkv5", "rwkv6", "rwkv7", "xlstm"}) {
    CAPTURE(type);
    CHECK(layers_of("{\"model_type\": \"" + type + "\", \"num_hidden_layers\": 2}") == "mm");
  }
  CHECK(declared_error("{\"model_type\": \"dots3_note_text\", \"num_hidden_layers\": 5}") ==
        "config.json: field 'layer_types' is missing: the kind of each layer; looked for layer_types at the top");
}

TEST_CASE("golden: fields inside text_config come first") {
  CHECK(
      layers_of(
          "{\"num_hidden_layers\": 2, \"text_config\": {\"num_hidden_layers\": 4}, \"full_attention_interval\": 2}") ==
      "mama");
}

TEST_CASE("law: an interval, a period and a list that say the same are one pattern") {
  CHECK(rc::check("intervals", [] {
    const int layers = *rc::gen::inRange(1, 100);
    const int interval = *rc::gen::inRange(1, 20);
    std::string list, period = std::to_string(interval);
    for (int i = 0; i < layers; ++i)
      list += std::string(i ? ", " : "") + ((i + 1) % interval == 0 ? "\"attention\"" : "\"mamba\"");
    const std::string config = "{\"num_hidden_layers\": " + std::to_string(layers) + ", \"layer_types\": [" + list +
                               "], \"full_attention_interval\": " + period + ", \"attn_layer_period\": " + period +
                               ", \"attn_layer_offset\": " + std::to_string(interval - 1) + "}";
    const std::string of_all = layers_of(config);
    RC_ASSERT(of_all.size() == static_cast<std::size_t>(layers));
    const std::string number = "{\"num_hidden_layers\": " + std::to_string(layers);
    RC_ASSERT(layers_of("{\"layer_types\": [" + list + "]}") == of_all);
    RC_ASSERT(layers_of(number + ", \"full_attention_interval\": " + period + "}") == of_all);
    RC_ASSERT(layers_of(number + ", \"attn_layer_period\": " + period + ", \"attn_layer_offset\": " +
                        std::to_string(interval - 1) + "}") == of_all);
  }));
}

TEST_CASE("edge: patterns that contradict each other or the number of layers") {
  CHECK(declared_error("{\"num_hidden_layers\": 3, \"layer_types\": [\"mamba\"]}") ==
        "config.json:1:41: layer_types is of length 1, but num_hidden_layers in line 1 is 3; one of them is wrong");
  CHECK(declared_error(
            "{\"num_hidden_layers\": 2, \"layer_types\": [\"mamba\", \"mamba\"],\n\"full_attention_interval\": 2}") ==
        "config.json:2:28: full_attention_interval says something else of layer 1 than layer_types in line 1; one of "
        "them "
        "is wrong");
  CHECK(declared_error("{\"num_hidden_layers\": 2, \"linear_attn_config\": {\"kda_layers\": [1, 2], "
                      "\"full_attn_layers\": [2]}}") ==
        "config.json:1:63: linear_attn_config.kda_layers: layer 2 is in both of full_attn_layers and kda_layers; each "
        "layer "
        "must be in one");
  CHECK(
      declared_error("{\"num_hidden_layers\": 2, \"linear_attn_config\": {\"kda_layers\": [1], "
                    "\"full_attn_layers\": []}}") ==
      "config.json:1:63: linear_attn_config.kda_layers: layer 2 is in neither of full_attn_layers and kda_layers; each "
      "layer must be in one");
}

TEST_CASE("edge: names, characters and numbers that mean no layer") {
  CHECK(
      declared_error("{\"layer_types\": [\"mamba\", \"fullattention\"]}") ==
      "config.json:1:27: layer_types[1]: the text 'fullattention' is no kind of layer that can be imported; known: "
      "full_attention, attention, sliding_attention, chunked_attention, indexed_attention, deepseek_sparse_attention, "
      "qwen_sparse_attention, minimax_m3_sparse, compressed_sparse_attention, heavily_compressed_attention, "
      "reference_sliding_attention, linear_attention, mamba, mamba2, recurrent, conv, short_conv, hybrid, "
      "hybrid_sliding, "
      "mlp, moe, ffn, dummy");
  CHECK(declared_error("{\"layer_types\": \"mamba\"}") ==
        "config.json:1:17: layer_types: the text 'mamba', where a list with one name a layer is expected");
  CHECK(declared_error("{\"layer_types\": []}") == "config.json:1:17: layer_types: no layers");
  CHECK(
      declared_error("{\"hybrid_override_pattern\": \"MM|*\"}") ==
      "config.json:1:32: hybrid_override_pattern: character '|' means no layer; M is mamba, * attention, - an MLP, E a "
      "MoE");
  for (const auto& [value, told] : {std::pair{"7", "7"}, {"[\"M\"]", "a list"}})
    CHECK(declared_error("{\"hybrid_override_pattern\": " + std::string(value) + "}") ==
          "config.json:1:29: hybrid_override_pattern: " + std::string(told) +
              ", where a text with one character a layer is expected");
  CHECK(declared_error("{\"num_hidden_layers\": 4, \"attn_layer_indices\": [1, 4]}") ==
        "config.json:1:52: attn_layer_indices[1]: there is no layer 4; the 4 layers are counted from 0 to 3");
  CHECK(declared_error("{\"num_hidden_layers\": 4, \"attn_layer_indices\": [1, 1]}") ==
        "config.json:1:52: attn_layer_indices[1]: layer 1 is named twice");
  CHECK(declared_error("{\"num_hidden_layers\": 4, \"attn_layer_indices\": [-1]}") ==
        "config.json:1:49: attn_layer_indices[0]: -1 is too small; allowed: whole numbers from 0 to 1000000");
  CHECK(declared_error("{\"attn_type_list\": [0, 2]}") ==
        "config.json:1:24: attn_type_list[1]: 2 is no kind of layer; 1 is attention, 0 linear attention");
  CHECK(declared_error("{\"num_hidden_layers\": 9, \"attn_layer_period\": 4, \"attn_layer_offset\": 4}") ==
        "config.json:1:71: attn_layer_offset: 4 is no offset within a period of 4 (attn_layer_period in line 1); "
        "allowed: 0 "
        "to 3");
  CHECK(declared_error("{\"num_hidden_layers\": 9, \"attn_layer_period\": 4}") ==
        "config.json: field 'attn_layer_offset' is missing: number of the first attention layer; looked for "
        "attn_layer_offset at the top");
  CHECK(declared_error("{\"num_hidden_layers\": 10001}") ==
        "config.json:1:23: num_hidden_layers: 10001 layers are more than 10000");
  CHECK(declared_error("{\"num_hidden_layers\": 4, \"mamba_step\": 1}") ==
        "config.json:1:40: mamba_step: 1 leaves no mamba layer; allowed: whole numbers from 2");
}

}  // namespace hybridkv::test
