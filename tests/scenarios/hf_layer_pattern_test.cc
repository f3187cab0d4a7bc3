#include "scenarios/hf_layer_pattern.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "scenario_text.h"
#include "scenarios/json_tree.h"

namespace hybridkv::test {

namespace {

using Form = HfPatternForm;

/// The layers of a config as one character each: '.' none, a attention, w sliding, m recurrent, b both.
std::string layers_of(const std::string& config, const std::vector<Form>& forms) {
  const YamlNode root = parse_json(config, {"config.json", "", {}});
  std::string text;
  for (const HfLayer layer : read_hf_pattern(HfFields(root), forms).layers) text += ".awmb"[static_cast<int>(layer)];
  return text;
}

/// The first line of the error.
std::string pattern_error(const std::string& config, const std::vector<Form>& forms) {
  const std::string error = error_of([&] { layers_of(config, forms); });
  return error.substr(0, error.find('\n'));
}

}  // namespace

TEST_CASE("golden: every published form of a layer pattern") {
  CHECK(layers_of("{\"layer_types\": [\"linear_attention\", \"full_attention\", \"conv\", \"sliding_attention\"]}",
                  {Form::layer_types}) == "mamw");
  CHECK(layers_of("{\"layers_block_type\": [\"mamba\", \"hybrid\", \"attention\", \"mlp\", \"moe\"]}",
                  {Form::layers_block_type}) == "mba..");
  CHECK(layers_of("{\"hybrid_override_pattern\": \"M-M*E\"}", {Form::hybrid_override_pattern}) == "m.ma.");
  CHECK(layers_of("{\"num_hidden_layers\": 9, \"full_attention_interval\": 4}", {Form::full_attention_interval}) ==
        "mmmammmam");
  CHECK(layers_of("{\"num_hidden_layers\": 5, \"attn_layer_indices\": [0, 3]}", {Form::attn_layer_indices}) == "ammam");
  CHECK(layers_of("{\"num_hidden_layers\": 5, \"full_attn_idxs\": [4, 1]}", {Form::full_attn_idxs}) == "mamma");
  CHECK(layers_of("{\"num_hidden_layers\": 5, \"hybrid_layer_ids\": [1]}", {Form::hybrid_layer_ids}) == "mbmmm");
  CHECK(layers_of("{\"num_hidden_layers\": 16, \"attn_layer_period\": 8, \"attn_layer_offset\": 4}",
                  {Form::attn_layer_period}) == "mmmmammmmmmmammm");
  CHECK(layers_of("{\"num_hidden_layers\": 4, \"linear_attn_config\": {\"kda_layers\": [1, 2, 3], "
                  "\"full_attn_layers\": [4]}}",
                  {Form::linear_attn_config}) == "mmma");
  CHECK(layers_of("{\"num_hidden_layers\": 3, \"linear_attn_config\": {\"kda_layers\": [1, 3]}}",
                  {Form::linear_attn_config}) == "mam");
  CHECK(layers_of("{\"attn_type_list\": [0, 0, 1]}", {Form::attn_type_list}) == "mma");
  CHECK(layers_of("{\"num_hidden_layers\": 8, \"layer_group_size\": 3}", {Form::layer_group_size}) == "mmammaaa");
  CHECK(layers_of("{\"num_hidden_layers\": 6, \"mamba_step\": 2}", {Form::mamba_step}) == "mamama");
  CHECK(layers_of("{\"num_hidden_layers\": 3, \"mamba_step\": 8}", {Form::mamba_step}) == "mma");
  CHECK(layers_of("{\"num_hidden_layers\": 3, \"mamba_step\": 2, \"mamba_enabled\": false}", {Form::mamba_step}) ==
        "aaa");
  CHECK(layers_of("{\"num_hidden_layers\": 3}", {Form::every_layer_both}) == "bbb");
}

TEST_CASE("golden: fields inside text_config come first") {
  CHECK(layers_of(
            "{\"num_hidden_layers\": 2, \"text_config\": {\"num_hidden_layers\": 4}, \"full_attention_interval\": 2}",
            {Form::full_attention_interval}) == "mama");
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
    const std::vector<Form> all{Form::layer_types, Form::full_attention_interval, Form::attn_layer_period};
    RC_ASSERT(layers_of(config, all).size() == static_cast<std::size_t>(layers));
    for (const Form form : all) RC_ASSERT(layers_of(config, {form}) == layers_of(config, all));
  }));
}

TEST_CASE("edge: patterns that contradict each other or the number of layers") {
  CHECK(pattern_error("{\"num_hidden_layers\": 3, \"layer_types\": [\"mamba\"]}", {Form::layer_types}) ==
        "config.json:1:41: layer_types is of length 1, but num_hidden_layers in line 1 is 3; one of them is wrong");
  CHECK(pattern_error(
            "{\"num_hidden_layers\": 2, \"layer_types\": [\"mamba\", \"mamba\"],\n\"full_attention_interval\": 2}",
            {Form::layer_types, Form::full_attention_interval}) ==
        "config.json:2:28: full_attention_interval says something else of layer 1 than layer_types in line 1; one of "
        "them "
        "is wrong");
  CHECK(pattern_error("{\"num_hidden_layers\": 2, \"linear_attn_config\": {\"kda_layers\": [1, 2], "
                      "\"full_attn_layers\": [2]}}",
                      {Form::linear_attn_config}) ==
        "config.json:1:63: linear_attn_config.kda_layers: layer 2 is in both of full_attn_layers and kda_layers; each "
        "layer "
        "must be in one");
  CHECK(
      pattern_error("{\"num_hidden_layers\": 2, \"linear_attn_config\": {\"kda_layers\": [1], "
                    "\"full_attn_layers\": []}}",
                    {Form::linear_attn_config}) ==
      "config.json:1:63: linear_attn_config.kda_layers: layer 2 is in neither of full_attn_layers and kda_layers; each "
      "layer must be in one");
}

TEST_CASE("edge: names, characters and numbers that mean no layer") {
  CHECK(
      pattern_error("{\"layer_types\": [\"mamba\", \"fullattention\"]}", {Form::layer_types}) ==
      "config.json:1:27: layer_types[1]: the text 'fullattention' is no kind of layer that can be imported; known: "
      "full_attention, attention, sliding_attention, chunked_attention, linear_attention, mamba, conv, short_conv, "
      "hybrid, mlp, moe, ffn");
  CHECK(pattern_error("{\"layer_types\": \"mamba\"}", {Form::layer_types}) ==
        "config.json:1:17: layer_types: the text 'mamba', where a list with one name a layer is expected");
  CHECK(pattern_error("{\"layer_types\": []}", {Form::layer_types}) == "config.json:1:17: layer_types: no layers");
  CHECK(
      pattern_error("{\"hybrid_override_pattern\": \"MM|*\"}", {Form::hybrid_override_pattern}) ==
      "config.json:1:32: hybrid_override_pattern: character '|' means no layer; M is mamba, * attention, - an MLP, E a "
      "MoE");
  CHECK(pattern_error("{\"num_hidden_layers\": 4, \"attn_layer_indices\": [1, 4]}", {Form::attn_layer_indices}) ==
        "config.json:1:52: attn_layer_indices[1]: there is no layer 4; the 4 layers are counted from 0 to 3");
  CHECK(pattern_error("{\"num_hidden_layers\": 4, \"attn_layer_indices\": [1, 1]}", {Form::attn_layer_indices}) ==
        "config.json:1:52: attn_layer_indices[1]: layer 1 is named twice");
  CHECK(pattern_error("{\"num_hidden_layers\": 4, \"attn_layer_indices\": [-1]}", {Form::attn_layer_indices}) ==
        "config.json:1:49: attn_layer_indices[0]: -1 is too small; allowed: whole numbers from 0 to 1000000");
  CHECK(pattern_error("{\"attn_type_list\": [0, 2]}", {Form::attn_type_list}) ==
        "config.json:1:24: attn_type_list[1]: 2 is no kind of layer; 1 is attention, 0 linear attention");
  CHECK(pattern_error("{\"num_hidden_layers\": 9, \"attn_layer_period\": 4, \"attn_layer_offset\": 4}",
                      {Form::attn_layer_period}) ==
        "config.json:1:71: attn_layer_offset: 4 is no offset within a period of 4 (attn_layer_period in line 1); "
        "allowed: 0 "
        "to 3");
  CHECK(pattern_error("{\"num_hidden_layers\": 9, \"attn_layer_period\": 4}", {Form::attn_layer_period}) ==
        "config.json: field 'attn_layer_offset' is missing: number of the first attention layer; looked for "
        "attn_layer_offset at the top");
  CHECK(pattern_error("{\"num_hidden_layers\": 10001}", {Form::every_layer_both}) ==
        "config.json:1:23: num_hidden_layers: 10001 layers are more than 10000");
  CHECK(pattern_error("{\"num_hidden_layers\": 4, \"mamba_step\": 1}", {Form::mamba_step}) ==
        "config.json:1:40: mamba_step: 1 leaves no mamba layer; allowed: whole numbers from 2");
}

}  // namespace hybridkv::test
