#include "scenarios/hf_parameters.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "scenarios/json_tree.h"
#include "scenarios/model_import.h"
#include "scenarios/model_library.h"
#include "scenarios/parameter_keys.h"
#include "test_paths.h"

namespace hybridkv::test {

namespace {

YamlNode json_of(const std::string& path) {
  const FileText file = read_text_file(path);
  REQUIRE(file.problem == "");
  return parse_json(file.text, {path, "", {}});
}

/// A model of which only types and order of the layers are said.
YamlNode model_of(const std::string& kinds, const std::string& layers) {
  return parse_yaml("kinds: {" + kinds + "}\nlayers: \"" + layers + "\"\n", {"model.yaml", "", {}});
}

ModelParameters parameters_in(const std::string& json, const std::string& kinds, const std::string& layers) {
  const YamlNode root = parse_json(json, {"config.json", "", {}});
  const std::optional<ModelParameters> parameters = hf_parameters(HfFields(root), model_of(kinds, layers));
  REQUIRE(parameters.has_value());
  return *parameters;
}

ModelParameters parameters_of(const std::string& config, const std::string& kinds, const std::string& layers) {
  const YamlNode root = json_of(config);
  const HfFields fields(root);
  const std::optional<ModelParameters> parameters = hf_parameters(fields, model_of(kinds, layers));
  REQUIRE(parameters.has_value());
  return *parameters;
}

ModelParameters published(const std::string& name, const std::string& kinds, const std::string& layers) {
  return parameters_of(HYBRIDKV_TEST_DATA "/configs/" + name + ".json", kinds, layers);
}

/// Billions with this many decimals, as publications say them.
std::string billions(std::int64_t parameters, int decimals = 1) {
  return fmt::format("{:.{}f}", static_cast<double>(parameters) / 1e9, decimals);
}

const std::string full = "a: {type: full_attention}";
const std::string full_and_gdn = full + ", m: {type: gdn}";

}  // namespace

TEST_CASE("golden: published totals and active parameters") {
  CHECK(total_parameters(published("Llama-3-8B", full, "a32")) == 8'030'261'248);
  const ModelParameters mixtral = published("Mixtral-8x7B-v0.1", full, "a32");
  CHECK(total_parameters(mixtral) == 46'702'792'704);
  CHECK(active_parameters(mixtral) == 12'879'925'248);
  const ModelParameters deepseek = published("DeepSeek-V3", "a: {type: mla}", "a61");
  CHECK(total_parameters(deepseek) == 671'026'404'352);
  CHECK(billions(active_parameters(deepseek), 0) == "38");  // 37 without the table of tokens
  CHECK(billions(deepseek.draft.total()) == "11.6");        // 14 B with the tables that its files repeat
  const ModelParameters gpt = published("gpt-oss-120b", full + ", w: {type: sliding_window}", "(wa)18");
  CHECK(total_parameters(gpt) == 116'829'156'672);
  CHECK(billions(active_parameters(gpt)) == "5.7");  // 5.1 B without the table of tokens
  const ModelParameters next = published("Qwen3-Next-80B-A3B", full_and_gdn, "(mmma)12");
  CHECK(total_parameters(next) == 79'674'391'296);
  const ModelParameters kimi = published("Kimi-Linear-48B-A3B", "a: {type: mla}, m: {type: kda}", "(mmma)6mma");
  CHECK(total_parameters(kimi) == 49'122'675'072);
  CHECK(billions(active_parameters(kimi)) == "3.5");
  const ModelParameters qwen = published("Qwen3.5-397B-A17B", full_and_gdn, "(mmma)15");
  CHECK(billions(total_parameters(qwen)) == "396.8");
  CHECK(billions(active_parameters(qwen) - qwen.beside[ParameterPart::other_modalities]) == "17.3");
  CHECK(billions(qwen.beside[ParameterPart::other_modalities], 2) == "0.46");
  CHECK(qwen.not_counted.empty());
}

TEST_CASE("golden: where the parameters of Kimi-Linear are") {
  const ModelParameters kimi = published("Kimi-Linear-48B-A3B", "a: {type: mla}, m: {type: kda}", "(mmma)6mma");
  REQUIRE(kimi.layers.size() == 2);
  const KindParameters& recurrent = kimi.layers[0];
  CHECK(recurrent.kind == "m");
  CHECK(recurrent.counts[ParameterPart::recurrent] == 790'285'440);
  CHECK(recurrent.counts[ParameterPart::dense] == 3 * 9216 * 2304);
  CHECK(recurrent.counts[ParameterPart::routed_experts] == std::int64_t{19} * 256 * 3 * 1024 * 2304);
  const KindParameters& latent = kimi.layers[1];
  CHECK(latent.kind == "a");
  CHECK(latent.kv_heads == 0);
  CHECK(latent.counts[ParameterPart::latents] == 7 * (576 * 2304 + 512));
  CHECK(kimi.beside[ParameterPart::head] == 163'840 * 2304);
  CHECK(kimi.experts == 256);
  CHECK(kimi.experts_per_token == 8);
}

TEST_CASE("golden: an xLSTM has the parameters that its publisher counts") {
  const ModelParameters xlstm =
      parameters_of(HYBRIDKV_TEST_DATA "/scenarios/configs/xLSTM-7B.json", "m: {type: xlstm}", "m32");
  CHECK(total_parameters(xlstm) == 6'865'424'896);
  CHECK(xlstm.layers[0].counts[ParameterPart::dense] == 32 * 3 * 4096 * std::int64_t{10'944});
}

TEST_CASE("edge: of an xLSTM only those channels of its heads count that a field gives it") {
  const auto recurrent = [](const std::string& field) {
    return parameters_in("{\"hidden_size\": 64, \"vocab_size\": 100, \"num_heads\": 4, \"num_attention_heads\": 4, "
                         "\"intermediate_size\": 128" + field + "}", "m: {type: xlstm}", "m2")
        .layers[0].counts[ParameterPart::recurrent];
  };
  // Queries and keys of as many channels as the hidden state; values, their gate, the output and a norm.
  CHECK(recurrent(", \"qk_dim_factor\": 1.0") - recurrent("") == 2 * 2 * 64 * 64);
  CHECK(recurrent(", \"v_dim_factor\": 1.0") - recurrent("") == 2 * (3 * 64 * 64 + 64));
}

TEST_CASE("golden: Falcon-Mamba has what its publisher counts, and Jamba norms inside the same layers") {
  const ModelParameters falcon =
      parameters_of(HYBRIDKV_TEST_DATA "/scenarios/configs/Falcon-Mamba-7B.json", "m: {type: mamba1}", "m64");
  CHECK(total_parameters(falcon) == 7'272'665'088);
  const ModelParameters jamba = parameters_of(HYBRIDKV_TEST_DATA "/scenarios/configs/Jamba-1.5-mini.json",
                                              full + ", m: {type: mamba1}", "(mmmmammm)4");
  // Those of dt are 256, those of B and of C 16 each.
  CHECK(jamba.layers[0].counts[ParameterPart::recurrent] / 28 ==
        falcon.layers[0].counts[ParameterPart::recurrent] / 64 + 256 + 2 * 16);
}

TEST_CASE("edge: a config without a model_type is counted as one of an unknown architecture") {
  const std::string sizes = "\"hidden_size\": 64, \"vocab_size\": 100, \"num_attention_heads\": 8, "
                            "\"intermediate_size\": 128}";
  const ModelParameters nameless = parameters_in("{" + sizes, full, "a2");
  CHECK(nameless == parameters_in("{\"model_type\": \"my_own\", " + sizes, full, "a2"));
  // Each layer has four square matrices, three of the MLP and two norms; words have two tables.
  CHECK(total_parameters(nameless) == 2 * (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64) + 2 * 100 * 64 + 64);
}

TEST_CASE("golden: the norms of OLMo have no weights, those of Llama have one for each channel") {
  const auto norms = [](const std::string& model_type) {
    return parameters_in("{\"model_type\": \"" + model_type + "\", \"hidden_size\": 64, \"vocab_size\": 100, "
                         "\"num_attention_heads\": 8, \"intermediate_size\": 128}", full, "a2")
        .layers[0].counts[ParameterPart::norms];
  };
  CHECK(norms("olmo") == 0);
  CHECK(norms("llama") == 2 * 2 * 64);  // two in each of the two layers
}

TEST_CASE("golden: of Zamba2's 13 layers with attention two hold the weights that all of them use") {
  const ModelParameters counted =
      import_model(HYBRIDKV_TEST_DATA "/scenarios/configs/Zamba2-7B.json").model.parameters.value();
  const ModelParameters& shipped = *find_shipped_model("Zamba2-7B")->model.parameters;
  REQUIRE(counted.layers.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(counted.layers[i].counts == shipped.layers[i].counts);
  // Attention sees the hidden state and the embedding side by side: 7,168 channels, as 32 heads of 224 have.
  CHECK(counted.layers[1].counts[ParameterPart::attention] == 2 * (7168 * 7168 + 7168 * 3584));
}

TEST_CASE("edge: where no field says the size of a head, linear attention has its share of the channels") {
  const ModelParameters counted = parameters_in(
      R"({"hidden_size": 64, "vocab_size": 100, "num_attention_heads": 8, "intermediate_size": 128})",
      "m: {type: linear}", "m2");
  // Queries, keys, values, the gate and the output are square, and the norm has a number for each channel.
  CHECK(counted.layers[0].counts[ParameterPart::recurrent] == 2 * (5 * 64 * 64 + 64));
}

TEST_CASE("edge: a layer that takes the index of another one has no indexer of its own") {
  const ModelParameters counted = parameters_in(
      R"({"hidden_size": 64, "vocab_size": 100, "num_attention_heads": 8, "intermediate_size": 128,
          "index_n_heads": 4, "index_head_dim": 16, "index_topk": 32, "indexer_types": ["full", "shared"]})",
      full, "a2");
  // Queries of 4 heads, keys of one, the norm of the keys with its shift, and a weight for each head.
  CHECK(counted.layers[0].counts[ParameterPart::latents] == 64 * 4 * 16 + 64 * 16 + 2 * 16 + 64 * 4);
}

TEST_CASE("edge: biases of MLPs make no shared expert where there is none") {
  const auto shared = [](const std::string& fields) {
    return parameters_in(R"({"hidden_size": 64, "vocab_size": 100, "num_attention_heads": 8, "num_experts": 4,
                             "num_experts_per_tok": 2, "moe_intermediate_size": 16, "mlp_bias": true)" + fields + "}",
                         full, "a2")
        .layers[0].counts[ParameterPart::shared_experts];
  };
  CHECK(shared("") == 0);
  // Of one: three matrices, biases of gate and input, and that of the output.
  CHECK(shared(", \"n_shared_experts\": 1") == 2 * (3 * 64 * 16 + 2 * 16 + 64));
}

TEST_CASE("golden: a list says of each layer whether it has experts") {
  const ModelParameters counted = parameters_in(
      R"({"hidden_size": 64, "vocab_size": 100, "num_attention_heads": 8, "intermediate_size": 128, "num_experts": 4,
          "num_experts_per_tok": 2, "moe_intermediate_size": 16, "moe_layer_freq": [0, 1, 1]})",
      full, "a3");
  CHECK(counted.layers[0].counts[ParameterPart::dense] == 3 * 64 * 128);
  CHECK(counted.layers[0].counts[ParameterPart::routed_experts] == 2 * 4 * 3 * 64 * 16);
}

TEST_CASE("golden: layers with a window have the heads that the config gives such layers, chunks have not") {
  const ModelParameters counted = parameters_in(
      R"({"hidden_size": 64, "vocab_size": 100, "num_attention_heads": 8, "num_key_value_heads": 4,
          "swa_num_key_value_heads": 2, "intermediate_size": 128})",
      full + ", w: {type: sliding_window}, c: {type: chunked_local, window_tokens: 8}", "wac");
  REQUIRE(counted.layers.size() == 3);
  // K and V of heads of 8 channels, from a hidden state of 64.
  CHECK(counted.layers[0].counts[ParameterPart::keys_values] == 2 * (8 + 8) * 64);
  CHECK(counted.layers[1].counts[ParameterPart::keys_values] == 4 * (8 + 8) * 64);
  CHECK(counted.layers[2].counts[ParameterPart::keys_values] == 4 * (8 + 8) * 64);
}

TEST_CASE("golden: RecurrentGemma counts the gate and the value of its MLP together") {
  const ModelParameters counted = parameters_in(
      R"({"model_type": "recurrent_gemma", "hidden_size": 64, "vocab_size": 100, "num_attention_heads": 8,
          "intermediate_size": 128})",
      "w: {type: sliding_window}", "w2");
  // Each is 64 wide: three matrices, the biases of gate and input, and that of the output.
  CHECK(counted.layers[0].counts[ParameterPart::dense] == 2 * (3 * 64 * 64 + 2 * 64 + 64));
}

TEST_CASE("edge: where no field says the width of Zamba2's MLP it is four hidden states, for the adapters too") {
  const ModelParameters counted = parameters_in(
      R"({"model_type": "zamba2", "hidden_size": 64, "vocab_size": 100, "num_attention_heads": 8, "n_mamba_heads": 8,
          "adapter_rank": 4})",
      full + ", m: {type: mamba2}", "(a+m)(a+m)");
  // Both uses have a square matrix and adapters of rank 4 onto gate and input of 256; they share one MLP.
  CHECK(counted.layers[0].counts[ParameterPart::dense] == 2 * (64 * 64 + 4 * (64 + 2 * 256)) + 3 * 64 * 256);
}

TEST_CASE("golden: experts narrower than their layers stand between projections") {
  const ModelParameters& super = *find_shipped_model("Nemotron-3-Super-120B-A12B")->model.parameters;
  const ModelParameters counted = parameters_in(
      R"({"model_type": "nemotron_h", "hidden_size": 4096, "vocab_size": 131072, "mamba_num_heads": 128,
          "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4, "n_routed_experts": 512,
          "num_experts_per_tok": 22, "n_shared_experts": 1, "moe_intermediate_size": 2688, "moe_latent_size": 1024,
          "moe_shared_expert_intermediate_size": 5376})",
      "M: {type: mamba2}, E: {type: none}", "(ME)40");
  REQUIRE(counted.layers.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(counted.layers[i].counts == super.layers[i].counts);
  CHECK(counted.experts_per_token == 22);
}

TEST_CASE("golden: attention over compressed entries has an indexer where entries are of few tokens") {
  // Transformers counts 6,580,676,726 in a layer of the heavily compressed ones, 6,595,558,646 in one of the others.
  const ModelParameters counted = parameters_in(
      R"({"model_type": "deepseek_v4",
          "compress_rates": {"heavily_compressed_attention": 128, "compressed_sparse_attention": 4}})",
      "w: {type: mla}, a: {type: full_attention}", "www(aw)20");
  REQUIRE(counted.layers.size() == 2);
  CHECK(counted.layers[0].counts.total() == 23 * std::int64_t{6'580'676'726});
  CHECK(counted.layers[1].counts.total() == 20 * std::int64_t{6'595'558'646});
}

TEST_CASE("edge: entries of 16 tokens are the longest that overlap") {
  const auto latents = [](int tokens) {
    return parameters_in(fmt::format(R"({{"model_type": "deepseek_v4",
                                          "compress_rates": {{"compressed_sparse_attention": {}}}}})", tokens),
                         "w: {type: mla}, a: {type: full_attention}", "www(aw)20")
        .layers[1].counts[ParameterPart::latents];
  };
  // Each of 12 tokens more has a number for each channel of both halves: of the heads, 512, and of the indexer, 128.
  CHECK(latents(16) - latents(4) == 20 * 12 * 2 * (512 + 128));
  CHECK(latents(17) < latents(16) / 2);
}

TEST_CASE("golden: a layer of RWKV has what Transformers counts, but for the shifts of its two norms") {
  const ModelParameters counted = parameters_in(R"({"model_type": "rwkv"})", "r: {type: rwkv4}", "r32");
  REQUIRE(counted.layers.size() == 1);
  CHECK(counted.layers[0].counts.total() == 32 * (std::int64_t{218'148'864} - 2 * 4096));
}

TEST_CASE("edge: norms of a gate are counted from a rank of one on") {
  const auto total = [](int rank) {
    return total_parameters(parameters_in(fmt::format(R"({{"model_type": "axk2", "gated_norm_rank": {}}})", rank),
                                          "a: {type: mla}", "a48"));
  };
  CHECK(total(1) - total(0) == std::int64_t{48} * 4 * 2048);
  CHECK(total(16) - total(0) == std::int64_t{48} * 4 * 16 * 2048);
}

TEST_CASE("golden: Kimi-K3 as public tools quote its config, but for the scores of residuals and of experts") {
  const ModelParameters& shipped = *find_shipped_model("Kimi-K3")->model.parameters;
  const ModelParameters counted = parameters_in(
      R"({"model_type": "kimi_linear", "hidden_size": 7168, "num_hidden_layers": 93, "num_attention_heads": 96,
          "first_k_dense_replace": 1, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
          "qk_rope_head_dim": 64, "v_head_dim": 128, "num_experts": 896, "num_experts_per_token": 16,
          "num_shared_experts": 2, "moe_intermediate_size": 3072, "intermediate_size": 33792, "vocab_size": 163840,
          "routed_expert_hidden_size": 3584, "latent_moe_use_norm": true, "mla_use_output_gate": true,
          "tie_word_embeddings": false, "linear_attn_config": {"head_dim": 128, "num_heads": 96,
          "short_conv_kernel_size": 4, "use_full_rank_gate": true}})",
      "a: {type: mla}, m: {type: kda}", "(mmma)23 a");
  CHECK(total_parameters(shipped) - total_parameters(counted) == 93 * 4 * 7168 + 2 * 7168 + 92 * 896);
  CHECK(counted.layers[0].counts[ParameterPart::recurrent] == shipped.layers[0].counts[ParameterPart::recurrent]);
  CHECK(counted.layers[1].counts[ParameterPart::attention] == shipped.layers[1].counts[ParameterPart::attention]);
}

TEST_CASE("law: parameters read back from what is written of them") {
  ModelParameters parameters = published("Qwen3.5-397B-A17B", full_and_gdn, "(mmma)15");
  ReadContext context;
  ModelParameters read;
  parameter_keys().read(context, "parameters", parameters_tree(parameters, {}), read);
  for (KindParameters& kind : parameters.layers) kind.kv_heads = 0;  // the kinds of the model say it
  CHECK(read == parameters);
}

TEST_CASE("a config that lacks a size, or has one beyond 64 bits, has no parameters") {
  const auto counted = [](const std::string& config) {
    const YamlNode root = parse_json(config, {"config.json", "", {}});
    return hf_parameters(HfFields(root), model_of(full, "a2")).has_value();
  };
  const std::string heads = "\"model_type\": \"my_own\", \"num_attention_heads\": 8, ";
  CHECK(counted("{" + heads + "\"hidden_size\": 64, \"vocab_size\": 100, \"intermediate_size\": 128}"));
  CHECK_FALSE(counted("{" + heads + "\"vocab_size\": 100, \"intermediate_size\": 128}"));
  CHECK_FALSE(counted("{" + heads + "\"hidden_size\": 64, \"intermediate_size\": 128}"));
  CHECK_FALSE(counted("{" + heads + "\"hidden_size\": 64, \"vocab_size\": 100}"));
  CHECK_FALSE(counted("{" + heads + "\"hidden_size\": 900000000, \"vocab_size\": 900000000, \"num_experts\": "
                                    "900000000, \"moe_intermediate_size\": 900000000}"));
}

}  // namespace hybridkv::test
