#include "mamba/xlstm.h"

#include <algorithm>

#include "tests/mamba/recurrent_cases.h"
#include "tests/mamba/state_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("golden: the state of xLSTM-7B has the bytes of the three tensors that transformers keeps") {
  const XlstmSpec layer{.heads = 8, .key_head_dim = 256, .value_head_dim = 512};
  for (const std::int64_t ranks : {1, 2, 8}) {
    const StateSpec state = state_of(layer, {ranks, 3, DType::bf16, DType::fp32});
    REQUIRE(state.tensors.size() == 1);
    CHECK(state.tensors[0].name == "ssm");
    CHECK(shape_of(state.tensors[0]) == std::vector<std::int64_t>{8 / ranks, 131'329});
    CHECK(state.bytes == 8 / ranks * (256 * 512 + 256 + 1) * 4);
  }
}

TEST_CASE("edge: ranks that cannot share the heads are refused with those that can") {
  CHECK_THROWS_WITH_AS(state_of(XlstmSpec{3, 4, 8}, {2, 0, DType::bf16, DType::fp32}),
                       "engine.tensor_parallel: 2 ranks cannot share 3 heads of a xlstm layer; take a divisor: 1, 3",
                       SpecError);
}

double xlstm_error(const RecurrentLayer& layer, const std::vector<float>& inputs, const Expected& expected) {
  StatePages pages(layer.spec, 1, DType::fp32);
  std::vector<float> outputs(expected.outputs.size());
  run_chunked(layer, inputs, pages.at(0), pages.at(0), 16, outputs);
  return error_against(expected, layer.spec, outputs, pages.at(0));
}

TEST_CASE("edge: input gates far apart neither overflow nor lose what is left") {
  const RecurrentSpec spec = XlstmSpec{2, 6, 5};
  const RecurrentLayer layer = random_layer(spec, 7);
  for (const float reach : {10.0f, 60.0f, 300.0f}) {
    std::vector<float> inputs = random_inputs(spec, 64, 11);
    for (std::int64_t token = 0; token < 64; ++token)
      for (std::int64_t head = 0; head < 2; ++head) inputs[(token + 1) * input_width(spec) - 3 - head] *= reach;
    CHECK(xlstm_error(layer, inputs, reference_of(layer, inputs)) <= 2e-5);
  }
}

TEST_CASE("fault: gates in each other's place, or a normaliser of zero, are far outside the bounds") {
  const RecurrentSpec spec = XlstmSpec{2, 6, 5};
  const RecurrentLayer layer = random_layer(spec, 7);
  std::vector<float> inputs = random_inputs(spec, 64, 11);
  const Expected expected = reference_of(layer, inputs);
  CHECK(xlstm_error(layer, inputs, expected) <= 1e-5);
  StatePages pages(spec, 1, DType::fp32);
  std::vector<float> outputs(expected.outputs.size());
  const std::int64_t half = 32 * input_width(spec), given = 32 * output_width(spec);
  run_chunked(layer, std::span(inputs).first(half), pages.at(0), pages.at(0), 16, std::span(outputs).first(given));
  std::vector<float> state = load_tensor(pages.at(0).ssm);
  for (std::int64_t i = 5 * 6; i < 6 * 6; ++i) state[i] = 0;
  store_tensor(pages.at(0).ssm, state);
  run_chunked(layer, std::span(inputs).subspan(half), pages.at(0), pages.at(0), 16,
              std::span(outputs).subspan(given));
  CHECK(error_against(expected, spec, outputs, pages.at(0)) > 1e-3);
  for (std::int64_t token = 0; token < 64; ++token) {
    float* gates = inputs.data() + (token + 1) * input_width(spec) - 4;
    std::swap_ranges(gates, gates + 2, gates + 2);
  }
  CHECK(xlstm_error(layer, inputs, expected) > 1e-3);
}

}  // namespace
}  // namespace hybridkv
