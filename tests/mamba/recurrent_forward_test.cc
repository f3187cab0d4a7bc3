#include "mamba/recurrent_forward.h"

#include <algorithm>
#include <cmath>

#include "tests/mamba/recurrent_cases.h"

// Errors are the largest difference over the largest magnitude, for the outputs and for each tensor of the final state.

namespace hybridkv {
namespace {

constexpr std::int64_t run_length = 512;

double chunked_error(const RecurrentLayer& layer, const std::vector<float>& inputs, const Expected& expected,
                     std::int64_t chunk, DType dtype) {
  StatePages pages(layer.spec, 1, dtype);
  std::vector<float> outputs(expected.outputs.size());
  run_chunked(layer, inputs, pages.at(0), pages.at(0), chunk, outputs);
  return error_against(expected, layer.spec, outputs, pages.at(0));
}

TEST_CASE("golden: chunked equals step by step in every family, at every chunk size, over 512 tokens") {
  for (const RecurrentSpec& spec : one_of_each_family()) {
    const RecurrentLayer layer = random_layer(spec, 7);
    for (std::int64_t length : {run_length, run_length - 3}) {
      const std::vector<float> inputs = random_inputs(spec, length, 11);
      const Expected expected = reference_of(layer, inputs);
      for (std::int64_t chunk : {1, 7, 64, 256}) {
        CAPTURE(family_name(spec));
        CAPTURE(length);
        CAPTURE(chunk);
        CHECK(chunked_error(layer, inputs, expected, chunk, DType::fp32) <= 1e-5);
        CHECK(chunked_error(layer, inputs, expected, chunk, DType::bf16) <= 1e-2);
      }
    }
  }
}

TEST_CASE("golden: heads of 128 as models have them stay within the same bounds") {
  for (const RecurrentSpec& spec : {RecurrentSpec(GdnSpec{1, 1, 128, 128, 4}), RecurrentSpec(KdaSpec{1, 128, 4}),
                                    RecurrentSpec(Mamba2Spec{1, 64, 128, 1, 4, 256}),
                                    RecurrentSpec(LinearAttentionSpec{1, 128})}) {
    CAPTURE(family_name(spec));
    const RecurrentLayer layer = random_layer(spec, 3);
    const std::vector<float> inputs = random_inputs(spec, run_length, 5);
    const Expected expected = reference_of(layer, inputs);
    CHECK(chunked_error(layer, inputs, expected, 64, DType::fp32) <= 1e-5);
    CHECK(chunked_error(layer, inputs, expected, 256, DType::bf16) <= 1e-2);
  }
}

TEST_CASE("fault: a perturbed decay or tap is far outside the bounds") {
  for (const RecurrentSpec& spec : one_of_each_family()) {
    CAPTURE(family_name(spec));
    const RecurrentLayer layer = random_layer(spec, 7);
    const std::vector<float> inputs = random_inputs(spec, run_length, 11);
    const Expected expected = reference_of(layer, inputs);
    RecurrentLayer perturbed = layer;
    std::vector<float>& weights =
        layer.weights.decay_log.empty() ? perturbed.weights.conv : perturbed.weights.decay_log;
    for (float& weight : weights) weight += 0.05f;
    CHECK(chunked_error(layer, inputs, expected, 64, DType::fp32) <= 1e-5);
    CHECK(chunked_error(perturbed, inputs, expected, 64, DType::fp32) > 1e-3);
    CHECK(chunked_error(perturbed, inputs, expected, 64, DType::bf16) > 1e-2);
  }
}

TEST_CASE("law: tokens cut into several calls leave the same outputs and state as one call") {
  for (const RecurrentSpec& spec : one_of_each_family()) {
    CAPTURE(family_name(spec));
    const RecurrentLayer layer = random_layer(spec, 2);
    const std::vector<float> inputs = random_inputs(spec, 90, 4);
    const Expected expected = reference_of(layer, inputs);
    StatePages pages(spec, 2, DType::fp32);
    std::vector<float> outputs(expected.outputs.size());
    const std::int64_t in = input_width(spec), out = output_width(spec);
    std::int64_t place = 0, first = 0;
    for (std::int64_t count : {40, 1, 1, 17, 1, 30}) {  // the state moves to the other page every time
      run_chunked(layer, std::span(inputs).subspan(first * in, count * in), pages.at(place), pages.at(1 - place), 16,
                  std::span(outputs).subspan(first * out, count * out));
      first += count;
      place = 1 - place;
    }
    CHECK(error_against(expected, spec, outputs, pages.at(place)) <= 1e-5);
  }
}

TEST_CASE("edge: strong decays neither overflow nor lose what is left") {
  for (const RecurrentSpec& spec : one_of_each_family()) {
    if (family_name(spec) == "short_conv") continue;
    CAPTURE(family_name(spec));
    RecurrentLayer layer = random_layer(spec, 2);
    for (float& log : layer.weights.decay_log) log = std::log(60.0f);
    const std::vector<float> inputs = random_inputs(spec, 200, 4);
    CHECK(chunked_error(layer, inputs, reference_of(layer, inputs), 100, DType::fp32) <= 1e-5);
  }
}

/// Where a row holds what makes its decays: a, dt or g, before the bias; no columns for fixed decays or none.
struct GateColumns {
  std::int64_t first = 0, count = 0;
};
GateColumns gate_columns(const RecurrentSpec& spec) {
  const std::int64_t width = input_width(spec);
  if (const auto* gdn = std::get_if<GdnSpec>(&spec)) return {width - gdn->value_heads, gdn->value_heads};
  if (const auto* mamba2 = std::get_if<Mamba2Spec>(&spec)) return {width - mamba2->heads, mamba2->heads};
  if (const auto* mamba1 = std::get_if<Mamba1Spec>(&spec)) return {mamba1->inner_size, mamba1->inner_size};
  if (const auto* kda = std::get_if<KdaSpec>(&spec))
    return {3 * kda->heads * kda->head_dim, kda->heads * kda->head_dim};
  return {};
}

TEST_CASE("edge: weak decays behind strong ones keep their digits in a long chunk") {
  // Every fourth token forgets nearly all, so that running sums of log decays reach thousands; what lies between two
  // neighbours is a few tenths, and in float it would keep the rounding of the thousands.
  for (const RecurrentSpec& spec : one_of_each_family()) {
    const GateColumns gates = gate_columns(spec);
    if (gates.count == 0) continue;
    CAPTURE(family_name(spec));
    const RecurrentLayer layer = random_layer(spec, 2);
    std::vector<float> inputs = random_inputs(spec, run_length, 4);
    for (std::int64_t token = 0; token < run_length; token += 4)
      for (std::int64_t i = 0; i < gates.count; ++i) inputs[token * input_width(spec) + gates.first + i] = 25;
    CHECK(chunked_error(layer, inputs, reference_of(layer, inputs), 256, DType::fp32) <= 2e-6);
  }
}

TEST_CASE("edge: a state that outlives a very long chunk of equal decays keeps its digits") {
  // Sums of equal numbers round the same way every time.
  constexpr std::int64_t long_chunk = 4096;
  for (const RecurrentSpec& spec : {RecurrentSpec(Mamba1Spec{3, 4, 4}), RecurrentSpec(Mamba2Spec{2, 3, 4, 1, 4, 64}),
                                    RecurrentSpec(GdnSpec{1, 2, 4, 3, 4}), RecurrentSpec(LinearAttentionSpec{2, 4})}) {
    CAPTURE(family_name(spec));
    RecurrentLayer layer = random_layer(spec, 5);
    const GateColumns gates = gate_columns(spec);
    for (float& log : layer.weights.decay_log) log = gates.count == 0 ? -7.0f : -0.1f;
    for (float& bias : layer.weights.step_bias) bias = 0;
    std::vector<float> inputs(static_cast<std::size_t>(long_chunk * input_width(spec)), 0.0f);
    for (std::int64_t token = 0; token < long_chunk; ++token)
      for (std::int64_t i = 0; i < gates.count; ++i) inputs[token * input_width(spec) + gates.first + i] = -7.3f;
    RecurrentStateRef state = initial_state(spec);
    for (double& value : state.ssm) value = 1;
    StatePages pages(spec, 1, DType::fp32);
    const StateView view = pages.at(0);
    store_tensor(view.ssm, std::vector<float>(state.ssm.size(), 1.0f));
    std::vector<double> slow(static_cast<std::size_t>(long_chunk * output_width(spec)));
    std::vector<float> outputs(slow.size());
    run_reference(layer, std::vector<double>(inputs.begin(), inputs.end()), state, slow);
    run_chunked(layer, inputs, view, view, long_chunk, outputs);
    CHECK(relative_error(load_tensor(view.ssm), state.ssm) <= 3e-6);
  }
}

/// Drafts 1 + s tokens a step, of which `accepted[i]` are right and the rest wrong; returns the kept outputs.
std::vector<float> decode_with_drafts(const RecurrentLayer& layer, const std::vector<float>& inputs,
                                      std::span<const StateView> blocks, std::int64_t prompt,
                                      const std::vector<std::int64_t>& accepted, std::int64_t& last) {
  const std::int64_t in = input_width(layer.spec), out = output_width(layer.spec);
  std::vector<float> kept(inputs.size() / in * out);
  run_chunked(layer, std::span(inputs).first(prompt * in), blocks[0], blocks[0], 8,
              std::span(kept).first(prompt * out));
  std::int64_t done = prompt;
  last = 1;
  for (std::int64_t count : accepted) {
    std::vector<float> step(inputs.begin() + done * in, inputs.begin() + (done + count) * in);
    const std::vector<float> wrong = random_inputs(layer.spec, static_cast<std::int64_t>(blocks.size()) - count, 99);
    step.insert(step.end(), wrong.begin(), wrong.end());
    std::vector<float> outputs(blocks.size() * out);
    run_draft_step(layer, step, {blocks, last}, outputs);
    std::copy_n(outputs.begin(), count * out, kept.begin() + done * out);
    done += count;
    last = count;
  }
  return kept;
}

TEST_CASE("law: rejected drafts leave no trace") {
  const std::vector<std::int64_t> accepted{1, 4, 2, 1, 3, 4, 1, 2};
  // Steps of drafts in the first convolution state, where the family holds them, or a whole one in every block.
  for (const std::int64_t steps_of_drafts : {3, 0})
    for (const RecurrentSpec& spec : one_of_each_family()) {
      CAPTURE(family_name(spec));
      CAPTURE(steps_of_drafts);
      const RecurrentLayer layer = random_layer(spec, 8);
      const std::vector<float> inputs = random_inputs(spec, 20 + 18, 6);
      const Expected expected = reference_of(layer, inputs);
      StatePages pages(spec, 5, DType::fp32, steps_of_drafts);
      const std::vector<StateView> blocks = pages.all(4);
      std::int64_t last = 0;
      const std::vector<float> kept = decode_with_drafts(layer, inputs, blocks, 20, accepted, last);
      copy_accepted(layer, {blocks, last}, pages.at(4));
      CHECK(error_against(expected, spec, kept, pages.at(4)) <= 1e-5);
      // The fault that this law is for: an accepted count off by one.
      copy_accepted(layer, {blocks, last - 1}, pages.at(4));
      CHECK(error_against(expected, spec, kept, pages.at(4)) > 1e-3);
    }
}

TEST_CASE("law: whether steps or channels of a convolution state lie inside changes nothing") {
  constexpr std::int64_t drafts = 3, blocks = 5;
  for (const RecurrentSpec& spec : one_of_each_family()) {
    CAPTURE(family_name(spec));
    if (conv_channels(spec) == 0) continue;
    const RecurrentLayer layer = random_layer(spec, 8);
    const std::vector<float> inputs = random_inputs(spec, 20 + 18, 6);
    StatePages pages(spec, blocks, DType::fp32, drafts), others(spec, blocks, DType::fp32, drafts);
    std::vector<std::vector<std::byte>> turned;
    std::vector<StateView> by_step = pages.all(blocks), by_channel = others.all(blocks);
    for (StateView& view : by_channel) {
      const Layout& conv = view.conv.layout;
      const Layout outside = row_major({{"channel", conv.extent("channel"), 0}, {"step", conv.extent("step"), 0}});
      view.conv = make_view(turned.emplace_back(static_cast<std::size_t>(outside.num_elements() * 4)), DType::fp32,
                            outside);
    }
    std::vector<std::vector<float>> outputs;
    for (const std::vector<StateView>* views : {&by_step, &by_channel}) {
      std::int64_t last = 0;
      const std::span<const StateView> of_drafts = std::span(*views).first(4);
      outputs.push_back(decode_with_drafts(layer, inputs, of_drafts, 20, {1, 4, 2, 1, 3, 4, 1, 2}, last));
      copy_accepted(layer, {of_drafts, last}, (*views)[4]);
    }
    CHECK(outputs[0] == outputs[1]);
    for (std::int64_t step = 0; step < conv_taps(spec) - 1; ++step)
      for (std::int64_t channel = 0; channel < conv_channels(spec); ++channel)
        REQUIRE(load_element(by_step[4].conv.address({step, channel}), DType::fp32) ==
                load_element(by_channel[4].conv.address({channel, step}), DType::fp32));
  }
}

TEST_CASE("edge: the accepted state may be copied into one of its own blocks") {
  const RecurrentSpec spec = GdnSpec{2, 4, 12, 10, 4};
  const RecurrentLayer layer = random_layer(spec, 8);
  const std::vector<float> inputs = random_inputs(spec, 11, 6);
  StatePages pages(spec, 3, DType::bf16, 2);
  const std::vector<StateView> blocks = pages.all(3);
  std::int64_t last = 0;
  decode_with_drafts(layer, inputs, blocks, 8, {3}, last);
  StatePages elsewhere(spec, 1, DType::bf16, 2);
  copy_accepted(layer, {blocks, last}, elsewhere.at(0));
  copy_accepted(layer, {blocks, last}, blocks[0]);
  const StateView a = blocks[0], b = elsewhere.at(0);
  CHECK(load_tensor(plain_conv(spec, a.conv)) == load_tensor(plain_conv(spec, b.conv)));
  CHECK(load_tensor(a.ssm) == load_tensor(b.ssm));
}

}  // namespace
}  // namespace hybridkv
