#include "scenarios/model_library.h"

#include <doctest/doctest.h>

#include <filesystem>

#include <map>

#include "csv_rows.h"
#include "mamba/recurrent_spec.h"
#include "scenario_text.h"

namespace hybridkv::test {

namespace {

ModelSpec model_named(const std::string& name) {
  return read_text_as_scenario("model: " + name + "\nengine: {memory: 1}\nlimits: {max_model_len: 1}\n").model;
}

std::string positions_of_attention(const ModelSpec& model, bool windows = true) {
  std::string text;
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    if (const auto& layer = model.layers[i].attention; layer && (windows || layer->window_tokens == 0))
      text += (text.empty() ? "" : " ") + std::to_string(i);
  return text;
}

/// The columns heads … chunk of the recurrent layer of a row; for gdn `heads` are value heads, `groups` key heads.
std::vector<std::int64_t> numbers_of(const RecurrentSpec& layer) {
  if (const auto* gdn = std::get_if<GdnSpec>(&layer))
    return {gdn->value_heads, gdn->value_head_dim, gdn->key_head_dim, gdn->key_heads, 0};
  if (const auto* mamba1 = std::get_if<Mamba1Spec>(&layer)) return {mamba1->inner_size, 1, mamba1->state_size, 0, 0};
  if (const auto* kda = std::get_if<KdaSpec>(&layer)) return {kda->heads, kda->head_dim, kda->head_dim, 0, 0};
  if (const auto* conv = std::get_if<ShortConvSpec>(&layer)) return {conv->channels, 0, 0, 0, 0};
  if (const auto* linear = std::get_if<LinearAttentionSpec>(&layer))
    return {linear->heads, linear->head_dim, linear->head_dim, 0, 0};
  const auto& mamba2 = std::get<Mamba2Spec>(layer);
  return {mamba2.heads, mamba2.head_dim, mamba2.state_size, mamba2.groups, mamba2.chunk_size};
}

/// 0 for a family without a convolution.
std::int64_t conv_kernel_of(const RecurrentSpec& layer) {
  return std::visit(
      [](const auto& family) -> std::int64_t {
        if constexpr (requires { family.conv_kernel; }) return family.conv_kernel;
        return 0;
      },
      layer);
}

const RecurrentSpec& first_recurrent(const ModelSpec& model) {
  for (const LayerSpec& layer : model.layers)
    if (layer.recurrent) return *layer.recurrent;
  throw std::logic_error("no recurrent layer");
}

const AttentionSpec& first_attention(const ModelSpec& model) {
  for (const LayerSpec& layer : model.layers)
    if (layer.attention) return *layer.attention;
  throw std::logic_error("no attention");
}

}  // namespace

TEST_CASE("law: the names that a shipped file begins with are those that the whole of it says") {
  std::vector<std::string> names, own;
  for (const ShippedModel& shipped : shipped_models()) {
    CAPTURE(shipped.file);
    CHECK(find_shipped_model(shipped.model.name)->file == shipped.file);
    for (const std::string& alias : shipped.aliases) CHECK(find_shipped_model(alias)->file == shipped.file);
    own.push_back(shipped.model.name);
    names.push_back(shipped.model.name);
    names.insert(names.end(), shipped.aliases.begin(), shipped.aliases.end());
  }
  CHECK(shipped_model_own_names() == own);
  CHECK(shipped_model_names() == names);
}

TEST_CASE("golden: every shipped model has the layers of the architecture table") {
  std::map<std::string, int> seen;
  for (const Row& row : rows_of("architectures.csv")) {
    CAPTURE(row.at("model"));
    const ModelSpec model = model_named(row.at("model"));
    CHECK(model.name == row.at("model"));
    CHECK(model.dtype == DType::bf16);
    CHECK(model.ssm_dtype == parse_dtype(row.at("ssm_dtype")));
    CHECK(model.layer_order_verified == (row.at("order_verified") == "1"));
    std::int64_t attention = 0, recurrent = 0;
    for (const LayerSpec& layer : model.layers) {
      attention += layer.attention ? 1 : 0;
      recurrent += layer.recurrent ? 1 : 0;
      if (layer.attention) CHECK(*layer.attention == first_attention(model));
      if (layer.recurrent) CHECK(*layer.recurrent == first_recurrent(model));
    }
    CHECK(attention == std::stoll(row.at("attention_layers")));
    CHECK(recurrent == std::stoll(row.at("recurrent_layers")));
    if (model.layer_order_verified) CHECK(positions_of_attention(model) == row.at("attention_positions"));
    ++seen[find_shipped_model(model.name)->file];
  }
  for (const Row& row : rows_of("attention_architectures.csv")) ++seen[find_shipped_model(row.at("model"))->file];
  // The others are what their published configs say: hf_config_test.cc.
  for (const auto& entry : std::filesystem::directory_iterator(HYBRIDKV_TEST_DATA "/scenarios/configs"))
    if (const ShippedModel* shipped = find_shipped_model(entry.path().stem().string())) ++seen[shipped->file];
  CHECK(seen.size() == shipped_models().size());
}

TEST_CASE("golden: every shipped model of attention alone has the layers and heads of its table") {
  for (const Row& row : rows_of("attention_architectures.csv")) {
    CAPTURE(row.at("model"));
    const ModelSpec model = model_named(row.at("model"));
    const auto number = [&](const char* column) { return std::stoll(row.at(column)); };
    CHECK(model.name == row.at("model"));
    CHECK(model.dtype == DType::bf16);
    CHECK(std::ssize(model.layers) == number("layers"));
    CHECK(model.layer_order_verified);
    CHECK(positions_of_attention(model, false) == row.at("full_positions"));
    for (const LayerSpec& layer : model.layers) {
      REQUIRE(layer.attention);
      CHECK(!layer.recurrent);
      const bool full = layer.attention->kind == AttentionKind::full;
      if (!full) CHECK(layer.attention->kind == AttentionKind::sliding_window);
      const AttentionSpec expected{.kind = layer.attention->kind,
                                   .query_heads = number("query_heads"),
                                   .kv_heads = number(full ? "full_kv_heads" : "window_kv_heads"),
                                   .head_size_k = number(full ? "full_head_size" : "window_head_size"),
                                   .head_size_v = number(full ? "full_head_size" : "window_head_size"),
                                   .window_tokens = full ? 0 : number("window_tokens")};
      AttentionSpec without = *layer.attention;
      without.indexer.reset();
      CHECK(without == expected);
    }
  }
}

TEST_CASE("golden: MiniMax-M3 has an indexer beside all layers but the first three, and beside its MTP layers") {
  const ModelSpec model = model_named("MiniMax-M3");
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    CHECK(model.layers[i].attention->indexer == (i < 3 ? std::nullopt : std::optional(IndexerSpec{256, 1})));
  CHECK(model.mtp->indexer == IndexerSpec{256, 1});
}

TEST_CASE("golden: every shipped model has the heads and states of the architecture table") {
  for (const Row& row : rows_of("architectures.csv")) {
    CAPTURE(row.at("model"));
    const ModelSpec model = model_named(row.at("model"));
    const AttentionSpec& attention = first_attention(model);
    const bool latent = row.at("family") == "kda";
    CHECK(attention.kind == (latent ? AttentionKind::mla : AttentionKind::full));
    CHECK(attention.kv_heads == std::stoll(row.at("kv_heads")));
    CHECK(attention.head_size_k == std::stoll(row.at("head_size")));
    CHECK(attention.head_size_v == (latent ? 512 : attention.head_size_k));
    CHECK(attention.query_heads % attention.kv_heads == 0);
    const RecurrentSpec& recurrent = first_recurrent(model);
    CHECK(family_name(recurrent) == row.at("family"));
    const std::map<std::string, std::int64_t> taps{{"short_conv", 3}, {"linear", 0}};
    CHECK(conv_kernel_of(recurrent) == (taps.contains(row.at("family")) ? taps.at(row.at("family")) : 4));
    const std::vector<std::int64_t> numbers = numbers_of(recurrent);
    const char* columns[] = {"heads", "value_dim", "key_dim", "groups", "chunk"};
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (!row.at(columns[i]).empty()) CHECK(numbers[i] == std::stoll(row.at(columns[i])));
  }
}

TEST_CASE("golden: state bytes of the shipped models are those that deployments printed") {
  for (const Row& row : rows_of("published_states.csv")) {
    CAPTURE(row.at("id"));
    const ModelSpec model = model_named(row.at("model"));
    StateContext context;
    context.tensor_parallel = std::stoll(row.at("tensor_parallel"));
    context.speculative_tokens = std::stoll(row.at("speculative_tokens"));
    context.conv_dtype = model.dtype;
    context.ssm_dtype = model.ssm_dtype.value_or(model.dtype);
    if (row.at("id") == "68") {
      CHECK(context.ssm_dtype == DType::fp32);
      context.ssm_dtype = DType::fp16;  // set by that deployment
    }
    CHECK(context.ssm_dtype == parse_dtype(row.at("ssm_dtype")));
    CHECK(state_of(first_recurrent(model), context).bytes == std::stoll(row.at("state_bytes")));
  }
}

TEST_CASE("edge: every shipped model says where its numbers come from, and what is unverified says so twice") {
  for (const ShippedModel& shipped : shipped_models()) {
    CAPTURE(shipped.file);
    CHECK(shipped.file == "models/" + shipped.model.name + ".yaml");
    const std::string& source = shipped.model.source;
    CHECK((source.find("Hugging Face") != std::string::npos || source.find("Start-up lines") != std::string::npos));
    const bool says_so = shipped.model.source.find("unverified") != std::string::npos ||
                         shipped.model.source.find("not known") != std::string::npos;
    CHECK(says_so == (!shipped.model.layer_order_verified || !shipped.unverified.empty()));
  }
}

TEST_CASE("edge: no two shipped models share a name") {
  std::map<std::string, int> names;
  for (const ShippedModel& shipped : shipped_models()) {
    ++names[shipped.model.name];
    for (const std::string& alias : shipped.aliases) ++names[alias];
  }
  for (const auto& [name, times] : names) {
    CAPTURE(name);
    CHECK(times == 1);
  }
}

TEST_CASE("edge: names are found in upper and lower case, aliases keep their own name") {
  CHECK(model_named("QWEN3.5-397b-a17b").name == "Qwen3.5-397B-A17B");
  CHECK(model_named("qwen3.8-27B").name == "Qwen3.8-27B");
  CHECK(find_shipped_model("Qwen3.6-27B") == find_shipped_model("Qwen3.5-27B"));
  CHECK(find_shipped_model("Qwen3.8-27B") != find_shipped_model("Qwen3.5-27B"));
  CHECK(model_named("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B").name == "NVIDIA-Nemotron-3-Super-120B-A12B");
  CHECK(model_named("google/gemma-3-27b-it").name == "gemma-3-27b-it");
  CHECK(model_named("openai/gpt-oss-20B").name == "gpt-oss-20b");
  CHECK(find_shipped_model("Qwen3.5-27") == nullptr);
}

}  // namespace hybridkv::test
