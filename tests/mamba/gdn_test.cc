#include "mamba/gdn.h"

#include "tests/mamba/state_cases.h"

namespace hybridkv {
namespace {

/// A gated delta net of the Qwen family: head dims 128, convolution 4.
GdnSpec qwen(std::int64_t key_heads, std::int64_t value_heads) { return {key_heads, value_heads, 128, 128, 4}; }

StateContext context(std::int64_t ranks, DType ssm_dtype, std::int64_t speculative_tokens = 0) {
  return {ranks, speculative_tokens, DType::bf16, ssm_dtype};
}

TEST_CASE("golden: state bytes printed by deployments of gdn models") {
  const std::vector<PublishedState> rows{
      {"row 3, Qwen3.5-4B", qwen(16, 32), context(1, DType::fp32), 2146304},
      {"row 9, Qwen3.5-27B", qwen(16, 48), context(1, DType::fp32), 3207168},
      {"row 14, Qwen3.5-27B, 7 draft tokens", qwen(16, 48), context(1, DType::fp32, 7), 3350528},
      {"row 16, Qwen3.5-27B, 1 draft token", qwen(16, 48), context(1, DType::fp32, 1), 3227648},
      {"row 32, Qwen3.5-27B, 3 draft tokens", qwen(16, 48), context(1, DType::fp32, 3), 3268608},
      {"row 41, Qwen3.5-35B-A3B", qwen(16, 32), context(1, DType::fp32), 2146304},
      {"row 54, Qwen3.5-122B-A10B", qwen(16, 64), context(2, DType::fp32), 2134016},
      {"row 56, Qwen3-Next-80B-A3B", qwen(16, 32), context(2, DType::bf16), 548864},
      {"row 113, Qwen3.5-35B-A3B", qwen(16, 32), context(2, DType::fp32), 1073152},
      {"row 123, Qwen3.5-27B, 3 draft tokens", qwen(16, 48), context(2, DType::fp32, 3), 1634304},
      {"row 131, Qwen3.8-Flash-Next, 2 draft tokens", qwen(16, 48), context(1, DType::fp32, 2), 3248128},
  };
  for (const PublishedState& row : rows) check_published(row);
}

TEST_CASE("golden: state shapes of Qwen3.5-397B-A17B at every published rank count") {
  const std::vector<PublishedState> rows{
      {"kv_configs, TP1", qwen(16, 64), context(1, DType::fp32), 4268032, {{3, 12288}, {64, 128, 128}}},
      {"kv_configs, TP1, bf16", qwen(16, 64), context(1, DType::bf16), 2170880, {{3, 12288}, {64, 128, 128}}},
      {"section 6, TP2", qwen(16, 64), context(2, DType::fp32), 2134016, {{3, 6144}, {32, 128, 128}}},
      {"kv_configs, TP2, bf16", qwen(16, 64), context(2, DType::bf16), 1085440, {{3, 6144}, {32, 128, 128}}},
      {"page_views, TP4", qwen(16, 64), context(4, DType::fp32), 1067008, {{3, 3072}, {16, 128, 128}}},
      {"page_views, TP4, bf16", qwen(16, 64), context(4, DType::bf16), 542720, {{3, 3072}, {16, 128, 128}}},
      {"page_views, TP8, bf16", qwen(16, 64), context(8, DType::bf16), 271360, {{3, 1536}, {8, 128, 128}}},
  };
  for (const PublishedState& row : rows) check_published(row);
}

TEST_CASE("golden: the recurrent tensor follows the convolution at the published byte") {
  CHECK(state_of(qwen(16, 64), context(2, DType::fp32)).tensors[1].byte_offset == 36864);
  CHECK(state_of(qwen(16, 64), context(8, DType::bf16)).tensors[1].byte_offset == 9216);
}

TEST_CASE("edge: axes are named, and values come before keys") {
  const StateSpec state = state_of(GdnSpec{2, 4, 8, 16, 4}, context(2, DType::fp32));
  CHECK(to_string(state.tensors[0].layout) == "(step 3, channel 48):(48, 1)");
  CHECK(to_string(state.tensors[1].layout) == "(head 2, value 16, key 8):(128, 8, 1)");
}

TEST_CASE("edge: ranks that cannot share the heads are refused with those that can") {
  CHECK_THROWS_WITH_AS(state_of(qwen(16, 48), context(3, DType::fp32)),
                       "engine.tensor_parallel: 3 ranks cannot share 16 key heads and 48 value heads of a gdn layer; "
                       "take a divisor of both: 1, 2, 4, 8, 16",
                       SpecError);
  CHECK_THROWS_AS(state_of(qwen(16, 64), context(32, DType::fp32)), SpecError);
  CHECK_THROWS_AS(state_of(qwen(32, 16), context(32, DType::fp32)), SpecError);
  CHECK_NOTHROW(state_of(qwen(16, 64), context(16, DType::fp32)));
}

TEST_CASE("edge: widths that do not fit 64 bits are refused") {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  CHECK_THROWS_AS(state_of(GdnSpec{huge, huge, huge, 128, 4}, {}), InputError);
  CHECK_THROWS_AS(state_of(GdnSpec{1, huge, 1 << 12, 1 << 12, 4}, {}), InputError);
}

}  // namespace
}  // namespace hybridkv
