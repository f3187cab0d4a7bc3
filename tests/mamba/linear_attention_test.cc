#include "mamba/linear_attention.h"

#include "tests/mamba/state_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("edge: the state of MiniMax-Text-01 is one matrix per head") {
  const StateSpec state = state_of(LinearAttentionSpec{64, 128}, {8, 4, DType::bf16, DType::fp32});
  CHECK(state.bytes == 524288);
  REQUIRE(state.tensors.size() == 1);
  CHECK(state.tensors[0].name == "ssm");
  CHECK(to_string(state.tensors[0].layout) == "(head 8, value 128, key 128):(16384, 128, 1)");
}

TEST_CASE("edge: ranks that cannot share the heads are refused with those that can") {
  CHECK_THROWS_WITH_AS(state_of(LinearAttentionSpec{64, 128}, {3, 0, DType::bf16, DType::bf16}),
                       "engine.tensor_parallel: 3 ranks cannot share 64 heads of a linear layer; take a divisor: "
                       "1, 2, 4, 8, 16, 32, 64",
                       SpecError);
}

}  // namespace
}  // namespace hybridkv
