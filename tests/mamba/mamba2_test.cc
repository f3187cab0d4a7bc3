#include "mamba/mamba2.h"

#include "mamba/reduction.h"
#include "tests/mamba/state_cases.h"

namespace hybridkv {
namespace {

/// heads, head dim, state size, groups, convolution, chunk.
constexpr Mamba2Spec nemotron_nano_30b{64, 64, 128, 8, 4, 128};
constexpr Mamba2Spec nemotron_nano_4b{96, 80, 128, 8, 4, 256};
constexpr Mamba2Spec nemotron_ultra{256, 64, 128, 8, 4, 128};
constexpr Mamba2Spec granite_small{128, 64, 128, 1, 4, 256};
constexpr Mamba2Spec granite_350m{48, 32, 128, 1, 4, 256};
constexpr Mamba2Spec falcon_3b{32, 128, 256, 1, 4, 128};

StateContext mamba2_context(std::int64_t ranks, DType ssm_dtype, std::int64_t speculative_tokens = 0) {
  return {ranks, speculative_tokens, DType::bf16, ssm_dtype};
}

TEST_CASE("golden: state bytes printed by deployments of mamba2 models") {
  const std::vector<PublishedState> rows{
      {"row 61, Nemotron-3-Nano-4B", nemotron_nano_4b, mamba2_context(1, DType::fp16), 2024448},
      {"row 62, Nemotron-3-Nano-30B-A3B", nemotron_nano_30b, mamba2_context(1, DType::fp32), 2134016},
      {"row 68, Nemotron-3-Nano-30B-A3B", nemotron_nano_30b, mamba2_context(1, DType::fp16), 1085440},
      {"row 70, Nemotron-3-Ultra-550B-A55B", nemotron_ultra, mamba2_context(8, DType::fp32), 1062400},
      {"row 71, granite-4.0-h-small", granite_small, mamba2_context(1, DType::bf16), 2147840},
      {"row 73, granite-4.0-h-350m", granite_350m, mamba2_context(1, DType::bf16), 403968},
      {"row 74, Falcon-H1-3B", falcon_3b, mamba2_context(1, DType::bf16), 2124800},
  };
  for (const PublishedState& row : rows) check_published(row);
}

TEST_CASE("golden: state shapes of Granite-4.0-H-small, whose one group is replicated on every rank") {
  const std::vector<PublishedState> rows{
      {"kv_configs, TP1", granite_small, mamba2_context(1, DType::fp32), 4244992, {{3, 8448}, {128, 64, 128}}},
      {"kv_configs, TP1, bf16", granite_small, mamba2_context(1, DType::bf16), 2147840, {{3, 8448}, {128, 64, 128}}},
      {"kv_configs, TP2", granite_small, mamba2_context(2, DType::fp32), 2123264, {{3, 4352}, {64, 64, 128}}},
      {"kv_configs, TP2, bf16", granite_small, mamba2_context(2, DType::bf16), 1074688, {{3, 4352}, {64, 64, 128}}},
      {"page_views, TP4", granite_small, mamba2_context(4, DType::fp32), 1062400, {{3, 2304}, {32, 64, 128}}},
      {"page_views, TP4, bf16", granite_small, mamba2_context(4, DType::bf16), 538112, {{3, 2304}, {32, 64, 128}}},
      {"page_views, TP8", granite_small, mamba2_context(8, DType::fp32), 531968, {{3, 1280}, {16, 64, 128}}},
      {"page_views, TP8, bf16", granite_small, mamba2_context(8, DType::bf16), 269824, {{3, 1280}, {16, 64, 128}}},
  };
  for (const PublishedState& row : rows) check_published(row);
}

TEST_CASE("golden: the recurrent tensor follows the convolution at the published byte") {
  CHECK(state_of(granite_small, mamba2_context(1, DType::fp32)).tensors[1].byte_offset == 50688);
  CHECK(state_of(granite_small, mamba2_context(8, DType::bf16)).tensors[1].byte_offset == 7680);
}

TEST_CASE("edge: ranks hold whole groups, or one each of replicated groups") {
  const auto channels = [](std::int64_t ranks) {
    const Mamba2Spec eight_groups{48, 10, 7, 8, 4, 128};
    return state_of(eight_groups, mamba2_context(ranks, DType::fp32)).tensors[0].layout.extent("channel");
  };
  CHECK(channels(1) == 480 + 2 * 8 * 7);
  CHECK(channels(4) == 120 + 2 * 2 * 7);
  CHECK(channels(8) == 60 + 2 * 7);
  CHECK(channels(12) == 40 + 2 * 7);
  CHECK(channels(16) == 30 + 2 * 7);
  CHECK(channels(48) == 10 + 2 * 7);
}

TEST_CASE("edge: speculative tokens lengthen the convolution only") {
  const StateSpec state = state_of(granite_small, mamba2_context(1, DType::bf16, 5));
  CHECK(to_string(state.tensors[0].layout) == "(step 8, channel 8448):(8448, 1)");
  CHECK(to_string(state.tensors[1].layout) == "(head 128, dim 64, state 128):(8192, 128, 1)");
}

TEST_CASE("edge: a reader is told how many heads share B and C where a reduced layer has others") {
  const auto changed = family_of(Mamba2Spec{}).changed_ratio;
  // 8 groups of 8 heads; at a sixteenth one group is left, with two heads.
  CHECK(changed(nemotron_nano_30b, reduced(nemotron_nano_30b, {16})) == "2 heads of mamba2 share B and C, of 8");
  Mamba2Spec half = nemotron_nano_30b;
  half.heads /= 2;
  half.groups /= 2;
  CHECK(changed(nemotron_nano_30b, half) == "");
}

TEST_CASE("edge: ranks that cannot share heads or groups are refused with those that can") {
  CHECK_THROWS_WITH_AS(state_of(granite_350m, mamba2_context(5, DType::bf16)),
                       "engine.tensor_parallel: 5 ranks cannot share 48 heads of a mamba2 layer; take a divisor: "
                       "1, 2, 3, 4, 6, 8, 12, 16, 24, 48",
                       SpecError);
  CHECK_THROWS_WITH_AS(state_of(nemotron_nano_4b, mamba2_context(6, DType::bf16)),
                       "engine.tensor_parallel: 6 ranks cannot share 8 groups of a mamba2 layer; take a divisor "
                       "(1, 2, 4, 8) or at least 8",
                       SpecError);
  CHECK_NOTHROW(state_of(nemotron_nano_4b, mamba2_context(12, DType::bf16)));
}

}  // namespace
}  // namespace hybridkv
