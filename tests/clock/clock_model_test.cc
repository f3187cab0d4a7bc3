// What a model has to read and to multiply, as its parameters say.
#include "clock/clock_model.h"

#include <doctest/doctest.h>

#include <vector>

#include "tests/clock/clock_cases.h"

using namespace hybridkv;
using namespace hybridkv::testing;

TEST_CASE("golden: weights have the bits that the model names, experts their own, else those of its elements") {
  LayerSpec layer;
  layer.attention = AttentionSpec{.query_heads = 8, .kv_heads = 2, .head_size_k = 64, .head_size_v = 64};
  ModelSpec model;
  model.name = "two layers";
  model.layers.assign(2, layer);
  ModelParameters& parameters = model.parameters.emplace();
  using Formats = std::vector<WeightFormat>;
  const auto dense_and_expert = [&] {
    const ClockModel clock = clock_model(model, {}, some_gpu());
    return Formats{clock.dense, clock.expert};
  };
  model.dtype = DType::fp32;
  CHECK(dense_and_expert() == Formats{{4, ComputeType::bf16}, {4, ComputeType::bf16}});
  parameters.weight_bits = 8;
  CHECK(dense_and_expert() == Formats{{1, ComputeType::fp8}, {1, ComputeType::fp8}});
  parameters.expert_bits = 4.5;  // unpacked, as this GPU multiplies nothing in four bits
  CHECK(dense_and_expert() == Formats{{1, ComputeType::fp8}, {0.5625, ComputeType::bf16}});
}

TEST_CASE("golden: of a sequence windows keep what is in them, other layers every token, and states are whole") {
  ClockModel model;
  model.attention = {{.layers = 2, .token_bytes = 10}, {.layers = 3, .token_bytes = 100, .window = 512}};
  model.states = {{.layers = 4, .state_bytes = 1000}};
  CHECK(sequence_bytes(model, 100) == 2 * 10 * 100 + 3 * 100 * 100 + 4 * 1000);
  CHECK(sequence_bytes(model, 2000) == 2 * 10 * 2000 + 3 * 100 * 512 + 4 * 1000);
  // The narrowest window has the token itself.
  model.attention[1].window = 1;
  CHECK(sequence_bytes(model, 2000) == 2 * 10 * 2000 + 3 * 100 * 1 + 4 * 1000);
  // Of latents a window says what is read; all of them are kept.
  model.attention[1].window = 512;
  model.latent_layers = 3;
  CHECK(sequence_bytes(model, 2000) == 2 * 10 * 2000 + 3 * 100 * 2000 + 4 * 1000);
}
