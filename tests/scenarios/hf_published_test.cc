// Published configs against what Transformers 5.23 keeps of them, layer by layer (../shared/cases/configs: the
// modelling code was run and its cache taken apart). Some of them stand in tests/data/scenarios/published.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "scenarios/model_import.h"
#include "test_paths.h"

namespace hybridkv::test {

namespace {

using nlohmann::json;

/// Rows of a convolution that engines keep: one fewer than Transformers, but for those of ZAYA1 (two convolutions in a
/// row) and of RecurrentGemma, where both keep taps - 1.
std::int64_t serving_rows(const json& shape, const json& kind) {
  const bool is_cca = kind["kind"].get<std::string>().find("attention+conv+state") != std::string::npos &&
                      shape[0] == 1280 && shape[1] == 2;
  const bool is_rg_lru = kind.contains("state") && kind["state"][0]["shape"].size() == 1 && shape[1] == 3;
  return shape[1].get<std::int64_t>() - (is_cca || is_rg_lru ? 0 : 1);
}

/// Elements of all tensors of a state as engines keep them.
std::int64_t serving_elements(const json& kind) {
  std::int64_t elements = 0;
  const json convs = kind.value("conv", json::array());
  // Those of an n-gram embedding (3_convs) are an auxiliary layer of the model file.
  const std::size_t count = kind["kind"] == "3_convs+state" ? 1 : convs.size();
  for (std::size_t i = 0; i < count; ++i)
    elements += convs[i]["shape"][0].get<std::int64_t>() * serving_rows(convs[i]["shape"], kind);
  for (const json& state : kind.value("state", json::array())) {
    std::int64_t product = 1;
    for (const json& extent : state["shape"]) product *= extent.get<std::int64_t>();
    elements += product;
  }
  return elements;
}

std::int64_t elements_of(const RecurrentSpec& layer) {
  std::int64_t elements = 0;
  for (const StateTensor& tensor : state_of(layer, {}).tensors) elements += tensor.layout.num_elements();
  return elements;
}

/// What a layer of attention keeps, as text: "latent 512 64, window 0".
std::string attention_text(const AttentionSpec& layer) {
  if (layer.kind == AttentionKind::mla)
    return fmt::format("latent {} {}, window {}", layer.head_size_v, layer.head_size_k - layer.head_size_v,
                       layer.window_tokens);
  return fmt::format("{} heads of {} and {}, window {}", layer.kv_heads, layer.head_size_k, layer.head_size_v,
                     layer.window_tokens);
}

std::string attention_text(const json& layer) {
  const std::int64_t window = layer.contains("window") ? layer["window"].get<std::int64_t>() : 0;
  if (layer.contains("latent"))
    return fmt::format("latent {} {}, window {}", layer["latent"].get<std::int64_t>(),
                       layer["rope"].get<std::int64_t>(), window);
  return fmt::format("{} heads of {} and {}, window {}", layer["kv_heads"].get<std::int64_t>(),
                     layer["k_dim"].get<std::int64_t>(), layer["v_dim"].get<std::int64_t>(), window);
}

/// Elements of the convolutions of n-gram embeddings in all layers of a record; both keep 9 rows.
std::int64_t embedding_elements(const json& record) {
  std::int64_t elements = 0;
  for (const json& run : record["runs"])
    if (const json& kind = record["kinds"][run[0].get<std::string>()]; kind["kind"] == "3_convs+state")
      elements += run[1].get<std::int64_t>() * kind["conv"][1]["shape"][0].get<std::int64_t>() *
                  kind["conv"][1]["shape"][1].get<std::int64_t>();
  return elements;
}

/// What is another of attention to an encoder, which all layers of a decoder have alike; empty where all agrees.
std::string cross_difference(const ModelSpec& model, const json& record) {
  for (const LayerSpec& layer : model.layers) {
    if (layer.cross.has_value() != record.contains("cross_attention")) return "cross attention in one of the two alone";
    if (!layer.cross) continue;
    const json& cross = record["cross_attention"];
    if (const std::string ours = attention_text(*layer.cross); ours != attention_text(cross))
      return "cross attention: " + ours;
    const std::int64_t bytes = kv_bytes_per_token(*layer.cross, 1, DType::bf16);
    if (bytes != cross["bytes_per_encoder_token_and_layer"]) return fmt::format("cross attention of {} bytes", bytes);
  }
  return "";
}

/// The first layer that is another than the record says; empty where all agree.
std::string difference(const ModelSpec& model, const json& record) {
  std::size_t index = 0;
  for (const json& run : record["runs"])
    for (int i = 0; i < run[1].get<int>(); ++i, ++index) {
      if (index == model.layers.size()) return fmt::format("{} layers", index);
      const json& kind = record["kinds"][run[0].get<std::string>()];
      const LayerSpec& layer = model.layers[index];
      const std::string ours = layer.attention ? attention_text(*layer.attention) : "none";
      const std::string theirs = kind.contains("attention") ? attention_text(kind["attention"]) : "none";
      if (ours != theirs) return fmt::format("layer {}: {}, not {}", index, ours, theirs);
      const std::int64_t state = layer.recurrent ? elements_of(*layer.recurrent) : 0;
      if (state != serving_elements(kind)) return fmt::format("layer {}: a state of {} elements", index, state);
    }
  if (const std::string cross = cross_difference(model, record); !cross.empty()) return cross;
  std::int64_t embeddings = 0;
  for (const RecurrentSpec& layer : model.auxiliary) embeddings += elements_of(layer);
  if (embeddings != embedding_elements(record)) return fmt::format("embeddings with {} elements", embeddings);
  return index == model.layers.size() ? "" : fmt::format("{} layers, not {}", model.layers.size(), index);
}

std::vector<json> records_of(const std::filesystem::path& folder) {
  std::ifstream file(folder / "expected.jsonl");
  REQUIRE(file.is_open());
  std::vector<json> records;
  for (std::string line; std::getline(file, line);) records.push_back(json::parse(line));
  return records;
}

}  // namespace

TEST_CASE("golden: published configs give what their modelling code keeps") {
  const std::filesystem::path folder = HYBRIDKV_TEST_DATA "/scenarios/published";
  const std::vector<json> records = records_of(folder);
  for (const json& record : records) {
    const std::string name = record["config"];
    CAPTURE(name);
    CHECK(difference(import_model((folder / name).string()).model, record) == "");
  }
  CHECK(records.size() >= 35);
}

TEST_CASE("edge: a record that says something else of a layer is told") {
  const std::filesystem::path folder = HYBRIDKV_TEST_DATA "/scenarios/published";
  for (json record : records_of(folder)) {
    const std::string name = record["config"];
    if (name != "bamba-9b.json" && name != "gemma-4-31b.json") continue;
    const ModelSpec model = import_model((folder / name).string()).model;
    json more = record;
    more["runs"].push_back(more["runs"][0]);
    CHECK(difference(model, more) != "");
    for (json& kind : record["kinds"]) {
      if (kind.contains("attention")) kind["attention"]["k_dim"] = 7;
      if (kind.contains("state")) kind["state"][0]["shape"][0] = 7;
    }
    CHECK(difference(model, record) != "");
  }
}

/// Configs whose kinds of cache are not planned, each refused by the name of its kind.
const std::set<std::string> refused_kinds = {
    "deepseek_v4.bare.config.json", "deepseek_v4.config.json", "deepseek_v4.saved.config.json",
    "unlimited_ocr.config.json",
};

TEST_CASE("golden: all published configs of the shared cases") {
  const char* folder = std::getenv("HYBRIDKV_CASES_DIR");
  if (!folder || !std::filesystem::exists(std::filesystem::path(folder) / "configs")) {
    MESSAGE("skipped: HYBRIDKV_CASES_DIR names no folder with configs");
    return;
  }
  const std::filesystem::path configs = std::filesystem::path(folder) / "configs";
  int equal = 0;
  for (const json& record : records_of(configs)) {
    const std::string name = record["config"];
    CAPTURE(name);
    if (refused_kinds.contains(name)) {
      CHECK_THROWS_AS(import_model((configs / name).string()), InputError);
      continue;
    }
    if (!record.contains("runs")) continue;
    const std::string found = difference(import_model((configs / name).string()).model, record);
    CHECK(found == "");
    equal += found.empty() ? 1 : 0;
  }
  MESSAGE(equal << " configs equal in every layer");
}

}  // namespace hybridkv::test
