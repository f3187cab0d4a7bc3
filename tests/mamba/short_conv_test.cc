#include "mamba/short_conv.h"

#include "tests/mamba/state_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("golden: the state of LFM2.5-1.2B is its convolution") {
  const StateSpec state = state_of(ShortConvSpec{2048, 3}, {1, 4, DType::bf16, DType::fp32});
  CHECK(state.bytes == 8192);  // rows 76 and 82
  REQUIRE(state.tensors.size() == 1);
  CHECK(state.tensors[0].name == "conv");
  CHECK(to_string(state.tensors[0].layout) == "(step 2, channel 2048):(2048, 1)");
}

TEST_CASE("golden: the convolution of Qwen3.8-Flash-Next is whole on every rank and knows no drafts") {
  // Four streams of 2,560 channels, 4 taps three tokens apart: 9 rows.
  const ShortConvSpec layer{.channels = 10'240, .conv_kernel = 10, .replicated = true};
  for (const std::int64_t ranks : {1, 2, 3, 8})
    for (const std::int64_t drafts : {0, 3}) {
      const StateSpec state = state_of(layer, {ranks, drafts, DType::bf16, DType::fp32});
      CHECK(state.bytes == 184'320);
      CHECK(to_string(state.tensors[0].layout) == "(step 9, channel 10240):(10240, 1)");
      CHECK(part_of_rank(layer, ranks) == layer);
    }
  RecurrentSpec kept = layer;
  hold_drafts(kept);  // as vLLM 0.33 lets other short convolutions do
  CHECK(kept == RecurrentSpec(layer));
}

TEST_CASE("edge: ranks that cannot share the channels are refused with those that can") {
  CHECK_THROWS_WITH_AS(state_of(ShortConvSpec{9, 3}, {2, 0, DType::bf16, DType::bf16}),
                       "engine.tensor_parallel: 2 ranks cannot share 9 channels of a short_conv layer; take a divisor: "
                       "1, 3, 9",
                       SpecError);
}

}  // namespace
}  // namespace hybridkv
