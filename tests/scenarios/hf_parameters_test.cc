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
