// Which layers cache the same thing: vLLM get_kv_cache_groups.
#include "planner/layer_specs.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "tests/planner/models.h"

using namespace hybridkv;
using namespace hybridkv::testing;

namespace {

using Layers = std::vector<std::int64_t>;

std::vector<std::string> kinds_of(const std::vector<LayerSet>& sets) {
  std::vector<std::string> kinds;
  for (const LayerSet& set : sets) kinds.push_back(set.kind());
  return kinds;
}

}  // namespace

TEST_CASE("golden: specs come in the order in which they first appear") {
  const std::vector<LayerSet> qwen = collect_layer_sets(qwen35_397b(), {});
  CHECK(kinds_of(qwen) == std::vector<std::string>{"gdn", "full_attention"});
  CHECK(qwen[0].layers.size() == 45);
  CHECK(qwen[1].layers == Layers{3, 7, 11, 15, 19, 23, 27, 31, 35, 39, 43, 47, 51, 55, 59});
  CHECK(qwen[1].attention.has_value());
  CHECK(!qwen[1].recurrent.has_value());
}

TEST_CASE("edge: without a manager of several kinds of layers windows of any length are full attention") {
  for (const std::int64_t window : {1, 512}) {
    ModelSpec model{.name = "windows"};
    AttentionSpec windowed = full_attention(2, 64);
    model.layers.push_back({.attention = windowed});
    windowed.kind = AttentionKind::sliding_window;
    windowed.window_tokens = window;
    model.layers.push_back({.attention = windowed});
    CHECK(kinds_of(collect_layer_sets(model, {})) == std::vector<std::string>{"full_attention", "sliding_window"});
    const std::vector<LayerSet> one = collect_layer_sets(model, {.hybrid_manager = false});
    CHECK(kinds_of(one) == std::vector<std::string>{"full_attention"});
    CHECK(one[0].layers == Layers{0, 1});
  }
}

TEST_CASE("golden: layers without a cache count but belong to no spec") {
  const std::vector<LayerSet> nemotron = collect_layer_sets(nemotron_nano_30b(), {});
  REQUIRE(nemotron.size() == 2);
  CHECK(nemotron[0].layers.size() == 23);
  CHECK(nemotron[1].layers == Layers{5, 12, 19, 26, 33, 42});
}

TEST_CASE("golden: with both kinds in one layer attention comes first") {
  const std::vector<LayerSet> falcon = collect_layer_sets(falcon_h1_3b(), {});
  CHECK(kinds_of(falcon) == std::vector<std::string>{"full_attention", "mamba2"});
  CHECK(falcon[0].layers == falcon[1].layers);
}

TEST_CASE("golden: MTP layers go on counting and join the first full attention") {
  const std::vector<LayerSet> sets = collect_layer_sets(qwen35_27b(), {.mtp_layers = 2});
  REQUIRE(sets.size() == 2);
  CHECK(sets[1].layers.size() == 18);
  CHECK(sets[1].layers[16] == 64);
  CHECK(sets[1].layers[17] == 65);
}

TEST_CASE("golden: MTP layers with attention of their own are a spec of their own") {
  ModelSpec model = qwen35_27b();
  model.mtp = full_attention(2, 128);
  const std::vector<LayerSet> sets = collect_layer_sets(model, {.mtp_layers = 1});
  REQUIRE(sets.size() == 3);
  CHECK(sets[2].attention == model.mtp);
  CHECK(sets[2].layers == Layers{64});
}

TEST_CASE("golden: MTP layers pass over sliding windows") {
  ModelSpec model;
  model.layers = {{sliding_attention(2, 8, 64), std::nullopt}, {full_attention(2, 8), std::nullopt}};
  const std::vector<LayerSet> sets = collect_layer_sets(model, {.mtp_layers = 1});
  REQUIRE(sets.size() == 2);
  CHECK(sets[0].layers == Layers{0});
  CHECK(sets[1].layers == Layers{1, 2});
}

TEST_CASE("golden: drafts come last and count from 0, even where the model has the same attention") {
  ModelSpec model;
  model.layers = {{sliding_attention(2, 8, 64), std::nullopt}};
  const std::vector<LayerSet> sets = collect_layer_sets(model, {.draft = DraftSpec{2, sliding_attention(2, 8, 64)}});
  REQUIRE(sets.size() == 2);
  CHECK(!sets[0].draft);
  CHECK(sets[1].draft);
  CHECK(sets[1].layers == Layers{0, 1});
  model.layers = {{full_attention(2, 8), std::nullopt}};
  const std::vector<LayerSet> full = collect_layer_sets(model, {.draft = DraftSpec{3, full_attention(2, 8)}});
  REQUIRE(full.size() == 2);
  CHECK(full[1].draft);
  CHECK(full[1].layers == Layers{0, 1, 2});
}

TEST_CASE("edge: MTP layers of a model without full attention are refused") {
  const ModelSpec states = hybrid_model("states", 2, {}, qwen_gdn(1, 1), [](auto) { return false; });
  CHECK_THROWS_WITH_AS(collect_layer_sets(states, {.mtp_layers = 1}),
                       "engine.mtp_layers: model states has no full-attention layer for the MTP layers to join; give "
                       "model.mtp or set mtp_layers to 0",
                       SpecError);
}
