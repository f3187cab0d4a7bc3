#include "mamba/cca.h"

#include <algorithm>

#include "tests/mamba/recurrent_cases.h"
#include "tests/mamba/state_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("golden: the state of ZAYA1 beside its attention, with half of v or the hidden state") {
  // expected.jsonl, zaya: conv (1280, 2) and state (128) in bf16.
  const auto state = [](std::int64_t delayed, std::int64_t ranks) {
    return state_of(CcaSpec{8, 2, 128, 2, 2, delayed}, {ranks, 3, DType::bf16, DType::fp32});
  };
  CHECK(state(128, 1).bytes == 5376);
  CHECK(to_string(state(128, 1).tensors[0].layout) == "(step 2, channel 1280):(1280, 1)");
  CHECK(to_string(state(128, 1).tensors[1].layout) == "(token 1, channel 128):(128, 1)");
  for (const StateTensor& tensor : state(128, 1).tensors) CHECK(tensor.dtype == DType::bf16);
  // SGLang keeps the hidden state, whole on every rank: (640, 2) and (2048, 1).
  CHECK(state(2048, 2).bytes == 2 * 640 * 2 + 2048 * 2);
}

TEST_CASE("edge: ranks that cannot share both kinds of heads are refused with those that can") {
  CHECK_THROWS_WITH_AS(state_of(CcaSpec{8, 2, 128, 2, 2, 128}, {4, 0, DType::bf16, DType::bf16}),
                       "engine.tensor_parallel: 4 ranks cannot share 8 query heads and 2 KV heads of a cca layer; "
                       "take a divisor of both: 1, 2",
                       SpecError);
  CHECK_THROWS_WITH_AS(family_of(CcaSpec{}).check(CcaSpec{7, 2, 128, 2, 2, 128}, "model.layers[0].recurrent"),
                       "model.layers[0].recurrent.query_heads: 7 query heads do not divide over 2 KV heads; take a "
                       "multiple of 2: 6 or 8",
                       SpecError);
}

TEST_CASE("edge: convolutions of one tap keep no row, and what is delayed is kept all the same") {
  const RecurrentSpec spec = CcaSpec{4, 2, 3, 1, 1, 5};
  const RecurrentLayer layer = random_layer(spec, 7);
  const std::vector<float> inputs = random_inputs(spec, 20, 11);
  const Expected expected = reference_of(layer, inputs);
  StatePages pages(spec, 1, DType::fp32);
  std::vector<float> outputs(expected.outputs.size());
  run_chunked(layer, inputs, pages.at(0), pages.at(0), 3, outputs);
  CHECK(relative_error(outputs, expected.outputs) <= 1e-5);
  CHECK(load_tensor(pages.at(0).ssm) == std::vector<float>(inputs.end() - 5, inputs.end()));
}

TEST_CASE("fault: taps of the second convolution in each other's place, or a token delayed by none, are found") {
  const RecurrentSpec spec = CcaSpec{4, 2, 5, 2, 3, 6};
  const RecurrentLayer layer = random_layer(spec, 7);
  const std::vector<float> inputs = random_inputs(spec, 64, 11);
  const Expected expected = reference_of(layer, inputs);
  const auto error = [&](const RecurrentLayer& run, const std::vector<float>& rows) {
    StatePages pages(spec, 1, DType::fp32);
    std::vector<float> outputs(expected.outputs.size());
    run_chunked(run, rows, pages.at(0), pages.at(0), 16, outputs);
    return error_against(expected, spec, outputs, pages.at(0));
  };
  CHECK(error(layer, inputs) <= 1e-5);
  RecurrentLayer turned = layer;
  std::vector<float>& taps = turned.weights.gates;
  std::rotate(taps.begin(), taps.begin() + std::ssize(taps) / 3, taps.end());
  CHECK(error(turned, inputs) > 1e-3);
  // Rows in which u comes a token too early give what a layer without a delay does.
  std::vector<float> early = inputs;
  const std::int64_t width = input_width(spec);
  for (std::int64_t token = 0; token + 1 < 64; ++token)
    std::copy_n(inputs.begin() + (token + 2) * width - 6, 6, early.begin() + (token + 1) * width - 6);
  CHECK(error(layer, early) > 1e-3);
}

}  // namespace
}  // namespace hybridkv
