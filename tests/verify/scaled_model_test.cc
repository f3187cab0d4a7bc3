#include "verify/scaled_model.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "tests/verify/forward/forward_models.h"

namespace hybridkv {
namespace {

TEST_CASE("edge: ratios of heads stay, widths shrink to no less than eight channels") {
  const AttentionSpec attention{AttentionKind::full, 32, 2, 256, 256, 0};
  const ModelSpec model = scaled_model(testing::small_hybrid(GdnSpec{16, 64, 128, 128, 4}, DType::bf16, attention), 16);
  CHECK(model.layers[1].attention == AttentionSpec{AttentionKind::full, 16, 1, 16, 16, 0});
  CHECK(model.layers[0].recurrent == RecurrentSpec(GdnSpec{1, 4, 8, 8, 4}));
  const auto recurrent = [](const RecurrentSpec& layer) {
    return *scaled_model(testing::small_hybrid(layer, DType::bf16), 16).layers[0].recurrent;
  };
  CHECK(recurrent(Mamba2Spec{64, 64, 128, 8, 4, 128}) == RecurrentSpec(Mamba2Spec{2, 8, 8, 1, 4, 16}));
  CHECK(recurrent(Mamba2Spec{8, 64, 128, 8, 4, 128}) == RecurrentSpec(Mamba2Spec{1, 8, 8, 1, 4, 16}));
  CHECK(recurrent(Mamba2Spec{256, 64, 128, 2, 4, 128}) == RecurrentSpec(Mamba2Spec{8, 8, 8, 1, 4, 16}));
  CHECK(recurrent(Mamba1Spec{8192, 16, 4}) == RecurrentSpec(Mamba1Spec{32, 8, 4}));
  CHECK(recurrent(KdaSpec{96, 128, 4, true}) == RecurrentSpec(KdaSpec{6, 8, 4, true}));
  CHECK(recurrent(ShortConvSpec{2048, 3}) == RecurrentSpec(ShortConvSpec{8, 3}));
  CHECK(recurrent(LinearAttentionSpec{64, 128}) == RecurrentSpec(LinearAttentionSpec{4, 8}));
  CHECK(recurrent(RgLruSpec{2560, 10, 4}) == RecurrentSpec(RgLruSpec{16, 1, 4}));
  CHECK(recurrent(Rwkv4Spec{4096, 4096}) == RecurrentSpec(Rwkv4Spec{16, 16}));
  CHECK(recurrent(RwkvSpec{7, 2048, 32, 64}) == RecurrentSpec(RwkvSpec{7, 8, 2, 8}));
  CHECK(recurrent(CcaSpec{8, 2, 128, 2, 2, 128}) == RecurrentSpec(CcaSpec{4, 1, 8, 2, 2, 8}));
  CHECK(recurrent(StreamConvsSpec{8, 128, 4608}) == RecurrentSpec(StreamConvsSpec{1, 8, 18}));
  CHECK(recurrent(XlstmSpec{8, 256, 512}) == RecurrentSpec(XlstmSpec{1, 16, 32}));
}

TEST_CASE("edge: the latent keeps its two parts, a window its span over several blocks") {
  const auto attention = [](const AttentionSpec& layer) {
    return *scaled_model(testing::small_hybrid(ShortConvSpec{64, 3}, DType::bf16, layer), 16).layers[1].attention;
  };
  CHECK(attention({AttentionKind::mla, 32, 1, 576, 512, 0}) == AttentionSpec{AttentionKind::mla, 2, 1, 36, 32, 0});
  // As large as its values, it has no rotated channels, and gets none.
  CHECK(attention({AttentionKind::mla, 32, 1, 512, 512, 0}) == AttentionSpec{AttentionKind::mla, 2, 1, 32, 32, 0});
  CHECK(attention({AttentionKind::sliding_window, 8, 8, 128, 128, 4096}) ==
        AttentionSpec{AttentionKind::sliding_window, 1, 1, 8, 8, 16});
  // A short one stays long enough to be seen, or as it was.
  CHECK(attention({AttentionKind::sliding_window, 8, 8, 128, 128, 1024}).window_tokens == 12);
  CHECK(attention({AttentionKind::sliding_window, 8, 8, 128, 128, 7}).window_tokens == 7);
}

TEST_CASE("edge: a ratio that does not stay is said") {
  const auto changed = [](const RecurrentSpec& layer, std::int64_t scale) {
    const ModelSpec model = testing::small_hybrid(layer, DType::bf16);
    return changed_ratios(model, scaled_model(model, scale));
  };
  CHECK(changed(Mamba2Spec{64, 64, 128, 2, 4, 128}, 4) ==
        std::vector<std::string>{"8 heads of mamba2 share B and C, of 32"});
  CHECK(changed(Mamba2Spec{64, 64, 128, 2, 4, 128}, 1).empty());
  CHECK(changed(Mamba2Spec{8, 64, 128, 8, 4, 128}, 16).empty());
  CHECK(changed(GdnSpec{16, 64, 128, 128, 4}, 16).empty());
}

TEST_CASE("edge: heads stay what the format of the cache can keep") {
  const auto attention = [](const AttentionSpec& layer, KvFormat format) {
    const ModelSpec model = testing::small_hybrid(ShortConvSpec{64, 3}, DType::bf16, layer);
    return *scaled_model(model, 16, format).layers[1].attention;
  };
  CHECK(attention({AttentionKind::full, 8, 8, 128, 144, 0}, KvFormat::nvfp4) ==
        AttentionSpec{AttentionKind::full, 1, 1, 16, 16, 0});
  CHECK(attention({AttentionKind::full, 8, 8, 128, 144, 0}, KvFormat::int4_per_token_head) ==
        AttentionSpec{AttentionKind::full, 1, 1, 8, 10, 0});
  CHECK(attention({AttentionKind::full, 8, 8, 128, 144, 0}, KvFormat::int8_per_token_head) ==
        AttentionSpec{AttentionKind::full, 1, 1, 8, 9, 0});
  CHECK(attention({AttentionKind::mla, 32, 1, 576, 512, 0}, KvFormat::fp8_ds_mla) ==
        AttentionSpec{AttentionKind::mla, 2, 1, 576, 512, 0});
}

TEST_CASE("edge: a layer that reads another one keeps its own number of query heads for each KV head that it reads") {
  ModelSpec model = testing::small_hybrid(GdnSpec{16, 64, 128, 128, 4}, DType::bf16,
                                          {AttentionKind::full, 32, 2, 256, 256, 0});
  model.layers.push_back({.shared = SharedKv{1, 64, std::nullopt}});
  // Of two KV heads one is left: 64 / 2 queries read it, while the layer itself has 32 / 2.
  const ModelSpec scaled = scaled_model(model, 16);
  CHECK(scaled.layers.back().shared->query_heads == 32);
  CHECK(scaled.layers[1].attention->query_heads == 16);
}

TEST_CASE("edge: a model is not enlarged") {
  CHECK_THROWS_AS(scaled_model(testing::small_hybrid(GdnSpec{2, 4, 16, 16, 4}, DType::bf16), 0), std::logic_error);
}

TEST_CASE("edge: scale one is the model itself") {
  const ModelSpec model = testing::small_hybrid(Mamba2Spec{64, 64, 128, 8, 4, 128}, DType::bf16);
  CHECK(scaled_model(model, 1) == model);
}

}  // namespace
}  // namespace hybridkv
