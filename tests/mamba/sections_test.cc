#include "base/rank_share.h"
#include "tests/mamba/state_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("golden: the sections of published layers, in the order of their rows") {
  const auto names = [](const RecurrentSpec& layer) {
    std::string text;
    for (const ChannelSection& section : sections_of(layer))
      text += std::string(section.name) + " " + std::to_string(section.parts) + " x " +
              std::to_string(section.channels) + "; ";
    return text;
  };
  CHECK(names(GdnSpec{16, 64, 128, 128, 4}) == "q 16 x 128; k 16 x 128; v 64 x 128; ");
  CHECK(names(Mamba2Spec{.heads = 128, .head_dim = 64, .state_size = 128, .groups = 8, .conv_kernel = 4,
                         .chunk_size = 128}) == "x 128 x 64; B 8 x 128; C 8 x 128; ");
  CHECK(names(KdaSpec{.heads = 32, .head_dim = 128, .conv_kernel = 4}) == "q 32 x 128; k 32 x 128; v 32 x 128; ");
  CHECK(names(Mamba1Spec{.inner_size = 8192, .state_size = 16, .conv_kernel = 4}) == "x 8192 x 1; ");
  CHECK(names(ShortConvSpec{.channels = 2048}) == "x 2048 x 1; ");
  CHECK(names(ShortConvSpec{.channels = 2048, .replicated = true}) == "x 1 x 2048; ");
  CHECK(names(LinearAttentionSpec{}) == "");
  CHECK(names(RgLruSpec{.lru_width = 2560, .heads = 10}) == "x 10 x 256; ");
  CHECK(names(CcaSpec{8, 2, 128, 2, 2, 128}) == "q 8 x 128; k 2 x 128; ");
  CHECK(names(StreamConvsSpec{8, 128, 4608}) == "k 8 x 128; v 8 x 128; attention 1 x 4608; mlp 1 x 4608; ");
  CHECK(names(StreamConvsSpec{8, 128, 4608, 4, true}) ==
        "k 8 x 128; v 8 x 128; attention 4608 x 1; mlp 4608 x 1; ");
  CHECK(names(Rwkv4Spec{.hidden_size = 4096, .attention_size = 512}) ==
        "time mixing 1 x 4096; channel mixing 1 x 4096; ");
}

TEST_CASE("law: the shares of its sections are the channels that a rank keeps") {
  int num_split = 0;
  CHECK(rc::check("sections", [&] {
    for (int repetition = 0; repetition < 20; ++repetition) {
      const RecurrentSpec layer = *rc::gen::resize(rc::kNominalSize, any_recurrent_spec());
      const StateContext context = *rc::gen::resize(rc::kNominalSize, any_state_context());
      StateSpec state;
      try {
        state = state_of(layer, context);
      } catch (const SpecError&) {
        continue;
      }
      std::int64_t channels = 0;
      bool shares = true;
      for (const ChannelSection& section : sections_of(layer)) {
        shares = shares && can_share(section.parts, context.tensor_parallel);
        if (shares) channels += rank_share(section.parts, context.tensor_parallel, 0).count * section.channels;
      }
      if (!shares) continue;  // three groups on four ranks: as many groups as ranks, whichever they are
      const Layout& first = state.tensors.front().layout;
      RC_ASSERT(channels == (first.find("step") >= 0 ? first.extent("channel") : 0));
      num_split += context.tensor_parallel > 1 && channels > 0;
    }
  }));
  CHECK(num_split > 100);
}

}  // namespace
}  // namespace hybridkv
