#include "mamba/mamba1.h"

#include "tests/mamba/state_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("edge: shapes of Jamba-1.5-mini, whose convolution does not grow with drafts") {
  check_published({"config.json of ai21labs/AI21-Jamba-1.5-Mini", Mamba1Spec{8192, 16, 4},
                   {1, 0, DType::bf16, DType::bf16}, 311296, {{3, 8192}, {8192, 16}}});
  check_published({"the same on two ranks with 5 draft tokens", Mamba1Spec{8192, 16, 4},
                   {2, 5, DType::bf16, DType::fp32}, 286720, {{3, 4096}, {4096, 16}}});
}

TEST_CASE("edge: ranks that cannot share the channels are refused with those that can") {
  CHECK_THROWS_WITH_AS(state_of(Mamba1Spec{10, 16, 4}, {4, 0, DType::bf16, DType::bf16}),
                       "engine.tensor_parallel: 4 ranks cannot share 10 channels of a mamba1 layer; take a divisor: "
                       "1, 2, 5, 10",
                       SpecError);
}

}  // namespace
}  // namespace hybridkv
