#include "mamba/stream_convs.h"

#include <algorithm>

#include "tests/mamba/recurrent_cases.h"
#include "tests/mamba/state_cases.h"

namespace hybridkv {
namespace {

TEST_CASE("golden: the convolutions of Inkling 2 are one state of the rows of all four streams") {
  // expected.jsonl, inkling2: 1,024, 1,024, 4,608 and 4,608 channels; of 4 taps serving keeps 3 rows.
  const auto state = [](std::int64_t ranks, bool scattered) {
    return state_of(StreamConvsSpec{8, 128, 4608, 4, scattered}, {ranks, 3, DType::bf16, DType::fp32});
  };
  REQUIRE(state(1, false).tensors.size() == 1);
  CHECK(to_string(state(1, false).tensors[0].layout) == "(step 3, channel 11264):(11264, 1)");
  CHECK(state(1, false).bytes == 67'584);
  CHECK(state(1, true) == state(1, false));
  CHECK(state(4, false).bytes == 3 * (2 * 256 + 2 * 4608) * 2);
  CHECK(state(4, true).bytes == 67'584 / 4);
}

TEST_CASE("edge: ranks that cannot share heads or channels are refused with those that can") {
  CHECK_THROWS_WITH_AS(state_of(StreamConvsSpec{3, 4, 10}, {2, 0, DType::bf16, DType::bf16}),
                       "engine.tensor_parallel: 2 ranks cannot share 3 KV heads of a stream_convs layer; take a "
                       "divisor: 1, 3",
                       SpecError);
  CHECK_THROWS_WITH_AS(state_of(StreamConvsSpec{3, 4, 10, 4, true}, {3, 0, DType::bf16, DType::bf16}),
                       "engine.tensor_parallel: 3 ranks cannot share 10 channels of a stream_convs layer; take a "
                       "divisor: 1, 2, 5, 10",
                       SpecError);
}

TEST_CASE("fault: streams in each other's place are far outside the bounds") {
  const RecurrentSpec spec = StreamConvsSpec{2, 3, 6, 4};
  const RecurrentLayer layer = random_layer(spec, 7);
  std::vector<float> inputs = random_inputs(spec, 64, 11);
  const Expected expected = reference_of(layer, inputs);
  const auto error = [&] {
    StatePages pages(spec, 1, DType::fp32);
    std::vector<float> outputs(expected.outputs.size());
    run_chunked(layer, inputs, pages.at(0), pages.at(0), 16, outputs);
    return error_against(expected, spec, outputs, pages.at(0));
  };
  CHECK(error() <= 1e-5);
  for (std::int64_t token = 0; token < 64; ++token) {
    const auto row = inputs.begin() + token * input_width(spec);
    std::swap_ranges(row, row + 6, row + 6);
  }
  CHECK(error() > 1e-3);
}

}  // namespace
}  // namespace hybridkv
