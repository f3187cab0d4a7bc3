// The two options of a delta rule that change what it computes: a doubled beta and a limited decay.
#include "tests/mamba/recurrent_cases.h"

namespace hybridkv {
namespace {

constexpr std::int64_t tokens = 300;

RecurrentSpec with_doubled_beta(bool doubled) { return GdnSpec{2, 4, 12, 10, 4, doubled}; }
RecurrentSpec with_limit(double limit) { return KdaSpec{3, 12, 4, false, limit}; }

/// The same weights under another spec of the same sizes.
RecurrentLayer layer_of(const RecurrentSpec& spec) { return {spec, random_layer(spec, 7).weights}; }

double chunked_error(const RecurrentLayer& layer, const std::vector<float>& inputs, std::int64_t chunk) {
  const Expected expected = reference_of(layer, inputs);
  StatePages pages(layer.spec, 1, DType::fp32);
  std::vector<float> outputs(expected.outputs.size());
  run_chunked(layer, inputs, pages.at(0), pages.at(0), chunk, outputs);
  return error_against(expected, layer.spec, outputs, pages.at(0));
}

TEST_CASE("golden: chunked equals step by step with a doubled beta and with limited decays") {
  for (const RecurrentSpec& spec : {with_doubled_beta(true), with_limit(5), with_limit(0.25)}) {
    const RecurrentLayer layer = layer_of(spec);
    const std::vector<float> inputs = random_inputs(spec, tokens, 11);
    for (const std::int64_t chunk : {1, 7, 64, 256}) {
      CAPTURE(family_name(spec));
      CAPTURE(chunk);
      CHECK(chunked_error(layer, inputs, chunk) <= 1e-5);
    }
  }
}

TEST_CASE("fault: without the option the same layer computes something else") {
  for (const auto& [with, without] : {std::pair{with_doubled_beta(true), with_doubled_beta(false)},
                                      std::pair{with_limit(5), with_limit(0)}}) {
    CAPTURE(family_name(with));
    const std::vector<float> inputs = random_inputs(with, tokens, 11);
    const Expected a = reference_of(layer_of(with), inputs), b = reference_of(layer_of(without), inputs);
    CHECK(relative_error(a.outputs, b.outputs) > 1e-2);
  }
}

/// Runs the reference in double, so that inputs need not be floats.
std::vector<double> outputs_of(const RecurrentLayer& layer, const std::vector<double>& inputs) {
  RecurrentStateRef state = initial_state(layer.spec);
  std::vector<double> outputs(inputs.size() / input_width(layer.spec) * output_width(layer.spec));
  run_reference(layer, inputs, state, outputs);
  return outputs;
}

TEST_CASE("law: a doubled beta of at most one is a plain beta of another gate") {
  const RecurrentLayer doubled = layer_of(with_doubled_beta(true)), plain = layer_of(with_doubled_beta(false));
  const std::vector<float> drawn = random_inputs(doubled.spec, 40, 3);
  std::vector<double> inputs(drawn.begin(), drawn.end()), other = inputs;
  const std::int64_t width = input_width(doubled.spec), heads = 4;
  for (std::int64_t token = 0; token < 40; ++token)
    for (std::int64_t i = width - 2 * heads; i < width - heads; ++i) {
      double& b = inputs[token * width + i];
      b = -std::abs(b) - 0.1;
      const double beta = 2 / (1 + std::exp(-b));  // below one, so some sigmoid has it
      other[token * width + i] = std::log(beta / (1 - beta));
    }
  CHECK(relative_error(outputs_of(doubled, inputs), outputs_of(plain, other)) <= 1e-12);
}

TEST_CASE("law: a limited decay is an unlimited one of another gate") {
  constexpr double limit = 5;
  const RecurrentLayer limited = layer_of(with_limit(limit)), plain = layer_of(with_limit(0));
  const std::vector<float> drawn = random_inputs(limited.spec, 40, 3);
  std::vector<double> inputs(drawn.begin(), drawn.end()), other = inputs;
  const std::int64_t width = input_width(limited.spec), dim = 12, heads = 3;
  for (std::int64_t token = 0; token < 40; ++token)
    for (std::int64_t i = 0; i < heads * dim; ++i) {
      const double bias = limited.weights.step_bias[i];
      const double rate = std::exp(double{limited.weights.decay_log[i / dim]});
      const std::int64_t at = token * width + 3 * heads * dim + i;
      const double log_decay = -limit / (1 + std::exp(-rate * (inputs[at] + bias)));
      other[at] = std::log(std::expm1(-log_decay / rate)) - bias;  // softplus turned round
    }
  CHECK(relative_error(outputs_of(limited, inputs), outputs_of(plain, other)) <= 1e-12);
}

TEST_CASE("edge: with beta near two a state turns over along its key, with beta near one it forgets what lay there") {
  for (const bool doubled : {false, true}) {
    // One head of one channel, no forgetting; k is 1 up to the 1e-6 of its length, v is 0.
    RecurrentLayer layer{GdnSpec{1, 1, 1, 1, 1, doubled},
                         {.conv = {0, 1, 0}, .conv_bias = {0, 100, 0}, .decay_log = {-30}, .step_bias = {0}}};
    RecurrentStateRef state{{}, {3}};
    std::vector<double> outputs(1);
    run_reference(layer, std::vector<double>{0, 0, 0, 40, 0}, state, outputs);
    CHECK(state.ssm[0] == doctest::Approx(doubled ? -3 : 0).epsilon(1e-6));
  }
}

TEST_CASE("edge: no gate forgets more than the limit") {
  RecurrentLayer layer{KdaSpec{1, 1, 1, false, 5}, {.conv = {0, 0, 0}, .conv_bias = {0, 0, 0}, .decay_log = {2},
                                                    .step_bias = {0}}};
  for (const double gate : {-1e4, 0.0, 1e4}) {
    RecurrentStateRef state{{}, {1}};
    std::vector<double> outputs(1);
    run_reference(layer, std::vector<double>{0, 0, 0, gate, 0}, state, outputs);
    CHECK(state.ssm[0] == doctest::Approx(gate < 0 ? 1 : gate > 0 ? std::exp(-5) : std::exp(-2.5)).epsilon(1e-12));
  }
}

}  // namespace
}  // namespace hybridkv
