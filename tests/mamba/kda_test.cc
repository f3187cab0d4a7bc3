#include "mamba/kda.h"

#include "tests/mamba/state_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("golden: state bytes printed by deployments of kda models") {
  const std::vector<PublishedState> rows{
      {"row 85, Kimi-K3", KdaSpec{96, 128, 4}, {16, 0, DType::bf16, DType::fp32}, 407040, {{3, 2304}, {6, 128, 128}}},
      {"row 93, GLM-5.3-Flash", KdaSpec{64, 128, 4}, {8, 0, DType::bf16, DType::fp32}, 542720,
       {{3, 3072}, {8, 128, 128}}},
  };
  for (const PublishedState& row : rows) check_published(row);
}

TEST_CASE("edge: the convolution grows with drafts only where the engine says so") {
  const StateContext drafts{1, 3, DType::bf16, DType::fp32};
  CHECK(state_of(KdaSpec{32, 128, 4, false}, drafts).tensors[0].layout.extent("step") == 3);
  CHECK(state_of(KdaSpec{32, 128, 4, true}, drafts).tensors[0].layout.extent("step") == 6);
}

TEST_CASE("edge: only limits that leave something of a decay pass") {
  const auto check = family_of(KdaSpec{}).check;
  for (const double limit : {0.0, 5.0, 1000.0}) CHECK_NOTHROW(check(KdaSpec{1, 1, 4, false, limit}, "layer"));
  CHECK_THROWS_WITH_AS(check(KdaSpec{1, 1, 4, false, 1000.5}, "layer"),
                       "layer.log_decay_limit: must be 0 (no limit) to 1000, is 1000.5", SpecError);
  CHECK_THROWS_AS(check(KdaSpec{1, 1, 4, false, -1}, "layer"), SpecError);
}

TEST_CASE("edge: ranks that cannot share the heads are refused with those that can") {
  CHECK_THROWS_WITH_AS(state_of(KdaSpec{12, 128, 4}, {5, 0, DType::bf16, DType::fp32}),
                       "engine.tensor_parallel: 5 ranks cannot share 12 heads of a kda layer; take a divisor: "
                       "1, 2, 3, 4, 6, 12",
                       SpecError);
}

}  // namespace
}  // namespace hybridkv
