#include "planner/validate.h"

#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <string>

#include "base/error.h"
#include "tests/planner/models.h"

using namespace hybridkv;

namespace {

/// Specs that can be planned, for a test to break in one place.
struct Specs {
  ModelSpec model = testing::two_layer_model();
  EngineSpec engine{.memory_bytes = testing::gib};
  LimitsSpec limits{.max_model_lens = {1024}};
};

std::string refusal(const std::function<void(Specs&)>& change) {
  Specs specs;
  change(specs);
  try {
    validate(specs.model, specs.engine, specs.limits);
  } catch (const SpecError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("edge: what can be planned is accepted") {
  CHECK(refusal([](Specs&) {}) == "accepted");
}

TEST_CASE("edge: numbers of the engine out of range name their field") {
  CHECK(refusal([](Specs& s) { s.engine.tensor_parallel = 0; }) ==
        "engine.tensor_parallel: must be at least 1, is 0");
  CHECK(refusal([](Specs& s) { s.engine.attention_pack_size = 70'000; }) ==
        "engine.attention_pack_size: 70000 is too large; allowed: 1 to 65536");
  CHECK(refusal([](Specs& s) { s.engine.kernel_block_sizes = {16, 0}; }) ==
        "engine.kernel_block_sizes: must be at least 1, is 0");
  CHECK(refusal([](Specs& s) { s.engine.speculative_tokens = -1; }) ==
        "engine.speculative_tokens: must be at least 0, is -1");
  CHECK(refusal([](Specs& s) { s.engine.hidden_state_size = -1; }) ==
        "engine.hidden_state_size: must be at least 0, is -1");
  CHECK(refusal([](Specs& s) { s.engine.memory_bytes = 0; }) == "engine.memory: must be at least 1, is 0");
  CHECK(refusal([](Specs& s) { s.engine.num_blocks = 0; }) == "engine.num_blocks: must be at least 1, is 0");
}

TEST_CASE("edge: what a model takes beside its layers is not below nothing") {
  CHECK(refusal([](Specs& s) { s.model.extra_blocks_per_request = -1; }) ==
        "model.extra_blocks_per_request: must be at least 0, is -1");
  CHECK(refusal([](Specs& s) { s.model.extra_blocks_per_request = 0; }) == "accepted");
}

TEST_CASE("edge: two formats of one cache are refused") {
  CHECK(refusal([](Specs& s) {
          s.engine.kv_dtype = DType::bf16;
          s.engine.kv_format = KvFormat::nvfp4;
        }) == "engine.kv_dtype: is bf16 and nvfp4; K and V have one format");
}

TEST_CASE("edge: lengths are asked for, and are lengths") {
  CHECK(refusal([](Specs& s) { s.limits.max_model_lens.clear(); }) ==
        "limits.max_model_len: no length is given; take at least one");
  CHECK(refusal([](Specs& s) { s.limits.load_tokens = {5, -1}; }) == "limits.load_tokens: must be at least 1, is -1");
}

TEST_CASE("edge: more lengths than anybody asks about are refused before any work") {
  const std::vector<std::int64_t> many(4'097, 16);
  CHECK(refusal([&](Specs& s) { s.limits.max_model_lens = many; }) ==
        "limits.max_model_len: 4097 lengths are too many; at most 4096");
  CHECK(refusal([&](Specs& s) { s.limits.load_tokens = many; }) ==
        "limits.load_tokens: 4097 lengths are too many; at most 4096");
}

TEST_CASE("regression: heads that share others in unequal parts are refused, the nearest numbers named") {
  // They ended a forward pass at scale 1 with a division by zero, and at scale 16 as another network.
  const auto with = [](const RecurrentSpec& layer) {
    return refusal([&](Specs& s) { s.model.layers.back() = {std::nullopt, layer}; });
  };
  const auto gdn = [](std::int64_t keys, std::int64_t values) {
    return GdnSpec{.key_heads = keys, .value_heads = values, .key_head_dim = 8, .value_head_dim = 8, .conv_kernel = 4};
  };
  const auto mamba2 = [](std::int64_t heads, std::int64_t groups) {
    return Mamba2Spec{.heads = heads, .head_dim = 8, .state_size = 8, .groups = groups};
  };
  CHECK(with(gdn(4, 8)) == "accepted");
  CHECK(with(gdn(4, 4)) == "accepted");
  CHECK(with(gdn(4, 2)) ==
        "model.layers[1].recurrent.value_heads: 2 value heads do not divide over 4 key heads; take a multiple of 4: 4");
  CHECK(with(gdn(4, 6)) == "model.layers[1].recurrent.value_heads: 6 value heads do not divide over 4 key heads; take "
                           "a multiple of 4: 4 or 8");
  CHECK(with(mamba2(8, 8)) == "accepted");
  CHECK(with(mamba2(2, 4)) == "model.layers[1].recurrent.heads: 2 heads do not divide over 4 groups of B and C; take a "
                              "multiple of 4: 4");
  CHECK(with(mamba2(9, 2)) == "model.layers[1].recurrent.heads: 9 heads do not divide over 2 groups of B and C; take a "
                              "multiple of 2: 8 or 10");
}

TEST_CASE("edge: layers of every family name their field and number") {
  const auto with = [](const RecurrentSpec& layer) {
    return refusal([&](Specs& s) { s.model.layers.back() = {std::nullopt, layer}; });
  };
  CHECK(with(GdnSpec{.key_heads = 0, .value_heads = 1, .key_head_dim = 1, .value_head_dim = 1, .conv_kernel = 4}) ==
        "model.layers[1].recurrent.key_heads: must be at least 1, is 0");
  CHECK(with(Mamba2Spec{.heads = 1, .head_dim = 1, .state_size = 1, .chunk_size = 0}) ==
        "model.layers[1].recurrent.chunk_size: must be at least 1, is 0");
  CHECK(with(Mamba1Spec{.inner_size = 8, .state_size = 0}) ==
        "model.layers[1].recurrent.state_size: must be at least 1, is 0");
  CHECK(with(KdaSpec{.heads = 2'000'000, .head_dim = 1}) ==
        "model.layers[1].recurrent.heads: 2000000 is too large; allowed: 1 to 1048576");
  for (const double limit : {-1.0, 1001.0, std::numeric_limits<double>::quiet_NaN()})
    CHECK(with(KdaSpec{.heads = 1, .head_dim = 1, .log_decay_limit = limit})
              .starts_with("model.layers[1].recurrent.log_decay_limit: must be 0 (no limit) to 1000, is "));
  CHECK(with(ShortConvSpec{.channels = 8, .conv_kernel = 1}) ==
        "model.layers[1].recurrent.conv_kernel: must be at least 2, is 1");
  CHECK(with(LinearAttentionSpec{.heads = 1, .head_dim = 0}) ==
        "model.layers[1].recurrent.head_dim: must be at least 1, is 0");
  CHECK(refusal([](Specs& s) { s.model.auxiliary = {ShortConvSpec{.channels = 0}}; }) ==
        "model.auxiliary[0].channels: must be at least 1, is 0");
}

TEST_CASE("edge: attention that contradicts its kind is refused") {
  const auto with = [](const std::function<void(AttentionSpec&)>& change) {
    return refusal([&](Specs& s) {
      AttentionSpec layer = testing::full_attention(2, 64, 4);
      change(layer);
      s.model.layers.back() = {layer, std::nullopt};
    });
  };
  CHECK(with([](AttentionSpec& layer) { layer.window_tokens = 8; }) ==
        "model.layers[1].attention.window_tokens: is 8, but full_attention has no window");
  CHECK(with([](AttentionSpec& layer) { layer.kind = AttentionKind::sliding_window; }) ==
        "model.layers[1].attention.window_tokens: must be at least 1, is 0");
  CHECK(with([](AttentionSpec& layer) { layer.kind = AttentionKind::mla; }) ==
        "model.layers[1].attention.kv_heads: is 2, but mla keeps one latent for all heads; set it to 1");
}

TEST_CASE("edge: a model without any cache is refused") {
  CHECK(refusal([](Specs& s) { s.model.layers = {{}, {}}; }) ==
        "model.layers: no layer has a cache; a plan needs one with attention or a state");
}
