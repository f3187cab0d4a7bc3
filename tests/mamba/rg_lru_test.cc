#include "mamba/rg_lru.h"

#include <algorithm>

#include "tests/mamba/recurrent_cases.h"
#include "tests/mamba/state_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("golden: states of RecurrentGemma, of which transformers keeps as many rows as serving") {
  check_published({"expected.jsonl, recurrentgemma-2b", RgLruSpec{2560, 10, 4}, {1, 0, DType::bf16, DType::fp32},
                   25'600, {{3, 2560}, {2560}}});
  check_published({"expected.jsonl, recurrentgemma-9b", RgLruSpec{4096, 16, 4}, {1, 0, DType::bf16, DType::fp32},
                   40'960, {{3, 4096}, {4096}}});
  check_published({"the same on two ranks with 5 draft tokens", RgLruSpec{4096, 16, 4},
                   {2, 5, DType::bf16, DType::fp32}, 20'480, {{3, 2048}, {2048}}});
}

TEST_CASE("edge: ranks split whole blocks of channels, since a gate reads all of its block") {
  CHECK_THROWS_WITH_AS(state_of(RgLruSpec{2560, 10, 4}, {4, 0, DType::bf16, DType::fp32}),
                       "engine.tensor_parallel: 4 ranks cannot share 10 heads of a rg_lru layer; take a divisor: "
                       "1, 2, 5, 10",
                       SpecError);
}

TEST_CASE("edge: channels that are no multiple of the heads are refused with those that are") {
  CHECK_THROWS_WITH_AS(family_of(RgLruSpec{}).check(RgLruSpec{2561, 10, 4}, "model.layers[0].recurrent"),
                       "model.layers[0].recurrent.lru_width: 2561 channels do not divide over 10 heads; take a "
                       "multiple of 10: 2560 or 2570",
                       SpecError);
}

TEST_CASE("fault: gates that read the neighbour's block, or one for the other, are far outside the bounds") {
  const RecurrentSpec spec = RgLruSpec{12, 3, 4};
  const RecurrentLayer layer = random_layer(spec, 7);
  const std::vector<float> inputs = random_inputs(spec, 64, 11);
  const Expected expected = reference_of(layer, inputs);
  const auto error = [&](const RecurrentLayer& run) {
    StatePages pages(spec, 1, DType::fp32);
    std::vector<float> outputs(expected.outputs.size());
    run_chunked(run, inputs, pages.at(0), pages.at(0), 16, outputs);
    return error_against(expected, spec, outputs, pages.at(0));
  };
  CHECK(error(layer) <= 1e-5);
  const auto turned_by = [&](std::ptrdiff_t weights) {
    RecurrentLayer turned = layer;
    std::vector<float>& gates = turned.weights.gates;
    std::rotate(gates.begin(), gates.begin() + weights, gates.end());
    return error(turned);
  };
  CHECK(turned_by(4 * 4) > 1e-3);      // a block
  CHECK(turned_by(3 * 4 * 4) > 1e-3);  // a gate
}

}  // namespace
}  // namespace hybridkv
