#include "mamba/recurrent_layer.h"

#include <algorithm>
#include <utility>

#include "tests/mamba/recurrent_cases.h"
#include "tests/mamba/state_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("law: the layer of one rank has the state that the whole layer has on that many ranks") {
  int num_split = 0;
  CHECK(rc::check("ranks", [&] {
    for (int repetition = 0; repetition < 20; ++repetition) {
      const RecurrentSpec layer = *rc::gen::resize(rc::kNominalSize, any_recurrent_spec());
      StateContext split = *rc::gen::resize(rc::kNominalSize, any_state_context());
      RecurrentSpec part;
      try {
        part = on_rank(layer, split.tensor_parallel);
      } catch (const SpecError& error) {
        RC_ASSERT(error.path() == "engine.tensor_parallel");
        continue;
      }
      num_split += split.tensor_parallel > 1;
      const StateSpec expected = state_of(layer, split);
      split.tensor_parallel = 1;
      RC_ASSERT(state_of(part, split) == expected);
    }
  }));
  CHECK(num_split > 100);
}

TEST_CASE("edge: rows are as wide as the parts that RecurrentLayer lists") {
  CHECK(input_width(GdnSpec{16, 32, 128, 128, 4}) == 2 * 2048 + 4096 + 2 * 32);
  CHECK(output_width(GdnSpec{16, 32, 128, 128, 4}) == 4096);
  CHECK(input_width(Mamba2Spec{64, 64, 128, 8, 4, 128}) == 4096 + 2 * 8 * 128 + 64);
  CHECK(input_width(Mamba1Spec{8192, 16, 4}) == 2 * 8192 + 2 * 16);
  CHECK(input_width(KdaSpec{32, 128, 4}) == 4 * 4096 + 32);
  CHECK(input_width(ShortConvSpec{2048, 3}) == 3 * 2048);
  CHECK(input_width(LinearAttentionSpec{64, 128}) == 3 * 8192);
  CHECK(input_width(RgLruSpec{2560, 10, 4}) == 2560);
  CHECK(input_width(Rwkv4Spec{4096, 4096}) == 4 * 4096);
  CHECK(output_width(Rwkv4Spec{4096, 4096}) == 3 * 4096);
  CHECK(input_width(RwkvSpec{5, 2048, 32, 64}) == 5 * 2048);
  CHECK(input_width(RwkvSpec{6, 2048, 32, 64}) == 6 * 2048);
  CHECK(input_width(RwkvSpec{7, 2048, 32, 64}) == 8 * 2048);
  CHECK(input_width(XlstmSpec{8, 256, 512}) == 2 * 2048 + 4096 + 2 * 8);
  CHECK(input_width(CcaSpec{8, 2, 128, 2, 2, 128}) == 1280 + 128);
  CHECK(input_width(StreamConvsSpec{8, 128, 4608}) == 2 * 1024 + 2 * 4608);
}

TEST_CASE("law: decays are drawn from all of the range in which those of trained layers of the family lie") {
  for (const RecurrentSpec& spec : one_of_each_family()) {
    CAPTURE(family_name(spec));
    std::vector<float> drawn;
    for (std::uint64_t seed = 1; seed <= 50; ++seed)
      for (const float log : random_layer(spec, seed).weights.decay_log) drawn.push_back(log);
    if (drawn.empty()) continue;
    const auto [least, largest] = std::visit([](const auto& family) {
      return std::pair(family_of(family).least_decay_log, family_of(family).largest_decay_log);
    }, spec);
    const auto [low, high] = std::minmax_element(drawn.begin(), drawn.end());
    CHECK(*low >= least);
    CHECK(*high <= largest);
    // Of at least 50 numbers some come near both ends.
    CHECK(*low < least + 0.2f * (largest - least));
    CHECK(*high > largest - 0.2f * (largest - least));
  }
}

TEST_CASE("law: what a token's own input counts is drawn about one, from a half to one and a half") {
  int num_families = 0;
  for (const RecurrentSpec& spec : one_of_each_family()) {
    CAPTURE(family_name(spec));
    std::vector<float> drawn;
    for (std::uint64_t seed = 1; seed <= 50; ++seed)
      for (const float weight : random_layer(spec, seed).weights.skip) drawn.push_back(weight);
    if (drawn.empty()) continue;
    ++num_families;
    const auto [low, high] = std::minmax_element(drawn.begin(), drawn.end());
    CHECK(*low >= 0.5f);
    CHECK(*high <= 1.5f);
    // Of at least 200 numbers some come near both ends.
    CHECK(*low < 0.6f);
    CHECK(*high > 1.4f);
  }
  CHECK(num_families >= 4);
}

TEST_CASE("law: a convolution that holds drafts is one whose state grows with them, and its channels are the state's") {
  for (const RecurrentSpec& spec : one_of_each_family()) {
    CAPTURE(family_name(spec));
    const StateSpec drafts = state_of(spec, {.speculative_tokens = 5});
    if (drafts.tensors[0].name != "conv") {
      CHECK(conv_channels(spec) == 0);
      continue;
    }
    CHECK(drafts.tensors[0].layout.extent("channel") == conv_channels(spec));
    CHECK(drafts.tensors[0].layout.extent("step") == conv_taps(spec) - 1 + (conv_holds_drafts(spec) ? 5 : 0));
  }
}

}  // namespace
}  // namespace hybridkv
