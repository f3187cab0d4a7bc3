#include "mamba/rwkv.h"

#include <algorithm>

#include "mamba/rwkv4.h"
#include "tests/mamba/recurrent_cases.h"
#include "tests/mamba/state_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("golden: the state of RWKV-4 has the bytes of the five tensors that transformers keeps") {
  // expected.jsonl, rwkv: two of 4,096 in bf16, three in fp32, a layer.
  check_published({"the class default of transformers", Rwkv4Spec{4096, 4096}, {1, 0, DType::bf16, DType::fp32},
                   2 * 4096 * 2 + 3 * 4096 * 4, {{1, 8192}, {4096, 3}}});
  check_published({"on four ranks, which all keep what is shifted", Rwkv4Spec{4096, 4096},
                   {4, 3, DType::bf16, DType::fp32}, 2 * 4096 * 2 + 3 * 1024 * 4, {{1, 8192}, {1024, 3}}});
}

TEST_CASE("golden: the state of RWKV-5 to 7 is a matrix a head beside what is shifted") {
  for (const std::int64_t version : {5, 6, 7}) {
    check_published({"RWKV/rwkv-6-world-1b6", RwkvSpec{version, 2048, 32, 64}, {1, 0, DType::bf16, DType::fp32},
                     532'480, {{1, 4096}, {32, 64, 64}}});
    check_published({"on two ranks", RwkvSpec{version, 2048, 32, 64}, {2, 0, DType::bf16, DType::fp32}, 270'336,
                     {{1, 4096}, {16, 64, 64}}});
  }
}

TEST_CASE("edge: ranks that cannot share channels or heads are refused with those that can") {
  CHECK_THROWS_WITH_AS(state_of(Rwkv4Spec{4, 10}, {4, 0, DType::bf16, DType::fp32}),
                       "engine.tensor_parallel: 4 ranks cannot share 10 channels of a rwkv4 layer; take a divisor: "
                       "1, 2, 5, 10",
                       SpecError);
  CHECK_THROWS_WITH_AS(state_of(RwkvSpec{7, 4, 3, 8}, {2, 0, DType::bf16, DType::fp32}),
                       "engine.tensor_parallel: 2 ranks cannot share 3 heads of a rwkv layer; take a divisor: 1, 3",
                       SpecError);
}

TEST_CASE("edge: versions that are not known are refused") {
  CHECK_THROWS_WITH_AS(family_of(RwkvSpec{}).check(RwkvSpec{8, 4, 3, 8}, "model.layers[0].recurrent"),
                       "model.layers[0].recurrent.version: is 8, but 5, 6 and 7 are known", SpecError);
}

TEST_CASE("edge: versions 5 and 6 have a bonus for each channel of their heads, version 7 has none") {
  for (const std::int64_t version : {5, 6})
    CHECK(random_layer(RwkvSpec{version, 8, 2, 6}, 1).weights.skip.size() == 2 * 6);
  CHECK(random_layer(RwkvSpec{7, 8, 2, 6}, 1).weights.skip.empty());
}

double error_of(const RecurrentLayer& layer, const std::vector<float>& inputs, const Expected& expected) {
  StatePages pages(layer.spec, 1, DType::fp32);
  std::vector<float> outputs(expected.outputs.size());
  run_chunked(layer, inputs, pages.at(0), pages.at(0), 16, outputs);
  return error_against(expected, layer.spec, outputs, pages.at(0));
}

TEST_CASE("edge: keys far from zero leave averages what they are, whatever a state of zeros says of their scale") {
  const RecurrentSpec spec = Rwkv4Spec{3, 5};
  const RecurrentLayer layer = random_layer(spec, 7);
  for (const float key : {-300.0f, -80.0f, 80.0f, 300.0f}) {
    std::vector<float> inputs = random_inputs(spec, 40, 11);
    for (std::int64_t token = 0; token < 40; ++token)
      for (std::int64_t i = 0; i < 5; ++i) inputs[token * input_width(spec) + 6 + i] += key;
    CHECK(error_of(layer, inputs, reference_of(layer, inputs)) <= 1e-5);
  }
}

TEST_CASE("fault: another bonus, a shift the wrong way or closed rates are far outside the bounds") {
  for (const RecurrentSpec& spec : {RecurrentSpec(Rwkv4Spec{7, 10}), RecurrentSpec(RwkvSpec{6, 9, 3, 5})}) {
    CAPTURE(family_name(spec));
    const RecurrentLayer layer = random_layer(spec, 7);
    const std::vector<float> inputs = random_inputs(spec, 64, 11);
    const Expected expected = reference_of(layer, inputs);
    CHECK(error_of(layer, inputs, expected) <= 1e-5);
    RecurrentLayer bonus = layer, shift = layer;
    for (float& weight : bonus.weights.skip) weight += 0.05f;
    std::swap_ranges(shift.weights.conv.begin(), shift.weights.conv.begin() + conv_channels(spec),
                     shift.weights.conv.begin() + conv_channels(spec));
    CHECK(error_of(bonus, inputs, expected) > 1e-3);
    CHECK(error_of(shift, inputs, expected) > 1e-3);
  }
  // What is removed of a state of version 7, left in it.
  const RecurrentSpec moving = RwkvSpec{7, 8, 2, 6};
  const RecurrentLayer layer = random_layer(moving, 7);
  std::vector<float> inputs = random_inputs(moving, 64, 11);
  const Expected expected = reference_of(layer, inputs);
  for (std::int64_t token = 0; token < 64; ++token)
    for (std::int64_t i = 1; i <= 12; ++i) inputs[(token + 1) * input_width(moving) - i] = -30;
  CHECK(error_of(layer, inputs, expected) > 1e-3);
}

}  // namespace
}  // namespace hybridkv
