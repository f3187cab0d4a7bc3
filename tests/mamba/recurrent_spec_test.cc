#include "mamba/recurrent_spec.h"

#include <algorithm>

#include "tests/mamba/state_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("edge: each family has its name and answers through the common type as by itself") {
  const GdnSpec gdn{16, 64, 128, 128, 4};
  const Mamba2Spec mamba2{128, 64, 128, 1, 4, 128};
  const StateContext context{2, 1, DType::bf16, DType::fp32};
  CHECK(family_name(gdn) == "gdn");
  CHECK(family_name(mamba2) == "mamba2");
  CHECK(state_of(RecurrentSpec(gdn), context) == state_of(gdn, context));
  CHECK(state_of(RecurrentSpec(mamba2), context) == state_of(mamba2, context));
}

TEST_CASE("edge: names of the other families") {
  CHECK(family_name(Mamba1Spec{}) == "mamba1");
  CHECK(family_name(KdaSpec{}) == "kda");
  CHECK(family_name(ShortConvSpec{}) == "short_conv");
  CHECK(family_name(LinearAttentionSpec{}) == "linear");
  CHECK(family_name(RgLruSpec{}) == "rg_lru");
  CHECK(family_name(Rwkv4Spec{}) == "rwkv4");
  CHECK(family_name(RwkvSpec{}) == "rwkv");
  CHECK(family_name(XlstmSpec{}) == "xlstm");
  CHECK(family_name(CcaSpec{}) == "cca");
  CHECK(family_name(StreamConvsSpec{}) == "stream_convs");
}

TEST_CASE("edge: some families fix the dtype of their recurrent tensor") {
  CHECK(fixed_ssm_dtype(KdaSpec{}) == DType::fp32);
  CHECK(fixed_ssm_dtype(RgLruSpec{}) == DType::fp32);
  CHECK(fixed_ssm_dtype(GdnSpec{}) == std::nullopt);
}

TEST_CASE("golden: key heads of gdn are padded up to a multiple of the ranks, value heads in proportion") {
  const auto padded = [](std::int64_t ranks) { return with_padded_heads(GdnSpec{16, 48, 128, 128, 4}, ranks); };
  CHECK(padded(3) == RecurrentSpec(GdnSpec{18, 54, 128, 128, 4}));
  CHECK(padded(32) == RecurrentSpec(GdnSpec{32, 96, 128, 128, 4}));
  CHECK(padded(16) == RecurrentSpec(GdnSpec{16, 48, 128, 128, 4}));
  const StateContext context{3, 0, DType::bf16, DType::fp32};
  CHECK(state_of(padded(3), context).tensors[1].layout.extent("head") == 18);
  // No engine pads the heads of the others.
  const RecurrentSpec kda = KdaSpec{.heads = 32, .head_dim = 128};
  CHECK(with_padded_heads(kda, 3) == kda);
}

TEST_CASE("edge: families of convolutions alone have nothing that is scanned") {
  CHECK(convolves_alone(ShortConvSpec{}));
  CHECK(convolves_alone(StreamConvsSpec{}));
  CHECK(convolves_alone(CcaSpec{}));
  CHECK(!convolves_alone(GdnSpec{}));
  CHECK(!convolves_alone(RgLruSpec{}));
}

TEST_CASE("edge: only mamba2 fixes the chunk of its scan") {
  CHECK(scan_chunk_tokens(Mamba2Spec{128, 64, 128, 1, 4, 128}) == 128);
  CHECK(scan_chunk_tokens(GdnSpec{16, 64, 128, 128, 4}) == std::nullopt);
}

TEST_CASE("law: all ranks together hold the whole recurrent tensor, and at least the whole convolution") {
  // But what a layer delays by a token, which every rank holds.
  const auto is_delayed = [](const StateTensor& tensor) { return tensor.layout.find("token") >= 0; };
  int num_split = 0;
  CHECK(rc::check("ranks", [&] {
    for (int repetition = 0; repetition < 20; ++repetition) {
      const RecurrentSpec layer = *rc::gen::resize(rc::kNominalSize, any_recurrent_spec());
      const StateContext split = *rc::gen::resize(rc::kNominalSize, any_state_context());
      StateContext whole = split;
      whole.tensor_parallel = 1;
      StateSpec part;
      try {
        part = state_of(layer, split);
      } catch (const SpecError& error) {
        RC_ASSERT(error.path() == "engine.tensor_parallel");
        continue;
      }
      num_split += split.tensor_parallel > 1;
      const StateSpec all = state_of(layer, whole);
      RC_ASSERT(part.tensors.size() == all.tensors.size());
      // Only the convolution of sections with fewer parts than ranks is held more than once.
      const std::vector<ChannelSection> sections = sections_of(layer);
      const bool replicated = std::any_of(sections.begin(), sections.end(), [&](const ChannelSection& section) {
        return section.parts % split.tensor_parallel != 0;
      });
      for (std::size_t i = 0; i < all.tensors.size(); ++i) {
        const std::int64_t held = part.tensors[i].bytes() * split.tensor_parallel;
        if (is_delayed(all.tensors[i]))
          RC_ASSERT(part.tensors[i].bytes() == all.tensors[i].bytes());
        else if (replicated && all.tensors[i].name == "conv")
          RC_ASSERT(held >= all.tensors[i].bytes());
        else
          RC_ASSERT(held == all.tensors[i].bytes());
      }
    }
  }));
  CHECK(num_split > 100);
}

}  // namespace
}  // namespace hybridkv
