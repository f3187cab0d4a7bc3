#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "layout/slice.h"
#include "mamba/recurrent_forward.h"
#include "mamba/recurrent_reference.h"

namespace hybridkv {

/// One small layer of every family, with several heads, shared key heads and shared groups.
inline std::vector<RecurrentSpec> one_of_each_family() {
  return {GdnSpec{2, 4, 12, 10, 4},  Mamba2Spec{4, 6, 8, 2, 4, 64}, Mamba1Spec{10, 5, 4},
          KdaSpec{3, 12, 4, false}, KdaSpec{3, 12, 4, true},       ShortConvSpec{14, 3},
          LinearAttentionSpec{3, 10}, RgLruSpec{12, 3, 4},         Rwkv4Spec{7, 10},
          RwkvSpec{5, 8, 2, 6},       RwkvSpec{6, 9, 3, 5},        RwkvSpec{7, 8, 2, 6},
          XlstmSpec{3, 6, 10},        CcaSpec{4, 2, 5, 2, 3, 6},   StreamConvsSpec{2, 3, 4, 4}};
}

inline std::vector<float> random_inputs(const RecurrentSpec& spec, std::int64_t tokens, std::uint64_t seed) {
  std::vector<float> inputs(static_cast<std::size_t>(tokens * input_width(spec)));
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = 1.5f * unit_value(mix(seed, i));
  return inputs;
}

/// Pages with room for several states of a layer, NaN everywhere a state is not.
class StatePages {
 public:
  StatePages(const RecurrentSpec& spec, std::int64_t count, DType dtype, std::int64_t speculative_tokens = 0)
      : state_(state_of(spec, {1, speculative_tokens, dtype, dtype})),
        page_(round_up(state_.bytes + 24, 8)),
        bytes_(static_cast<std::size_t>(page_ * count), std::byte{0xff}) {
    for (std::int64_t i = 0; i < count; ++i) zero_state(at(i));
  }

  StateView at(std::int64_t index) {
    StateView view;
    for (const StateTensor& tensor : state_.tensors) {
      const std::int64_t first = index * page_ + tensor.byte_offset;
      const Layout layout(tensor.layout.axes(), first / element_bytes(tensor.dtype));
      (tensor.name == "conv" ? view.conv : view.ssm) = make_view(bytes_, tensor.dtype, layout);
    }
    return view;
  }
  std::vector<StateView> all(std::int64_t count) {
    std::vector<StateView> views;
    for (std::int64_t i = 0; i < count; ++i) views.push_back(at(i));
    return views;
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  StateSpec state_;
  std::int64_t page_;
  std::vector<std::byte> bytes_;
};

/// Largest difference over the largest magnitude of what it should be.
template <class A, class B>
double relative_error(const A& got, const B& expected) {
  REQUIRE(got.size() == expected.size());
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double gap = std::abs(double(got[i]) - double(expected[i]));
    difference = gap >= 0 ? std::max(difference, gap) : std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(double(expected[i])));
  }
  return largest == 0 ? difference : difference / largest;
}

/// Output and final state of the reference.
struct Expected {
  std::vector<double> outputs;
  RecurrentStateRef state;
};

inline Expected reference_of(const RecurrentLayer& layer, const std::vector<float>& inputs) {
  Expected expected{std::vector<double>(inputs.size() / input_width(layer.spec) * output_width(layer.spec)),
                    initial_state(layer.spec)};
  run_reference(layer, std::vector<double>(inputs.begin(), inputs.end()), expected.state, expected.outputs);
  return expected;
}

/// The first K-1 steps: all that a sequence without drafts has.
inline TensorView plain_conv(const RecurrentSpec& spec, TensorView conv) {
  conv.layout = slice(conv.layout, "step", 0, conv_taps(spec) - 1);
  return conv;
}

/// Largest of the errors of the outputs and of each tensor of the state.
inline double error_against(const Expected& expected, const RecurrentSpec& spec, const std::vector<float>& outputs,
                            const StateView& state) {
  double error = relative_error(outputs, expected.outputs);
  if (state.has_conv())
    error = std::max(error, relative_error(load_tensor(plain_conv(spec, state.conv)), expected.state.conv));
  if (state.has_ssm()) error = std::max(error, relative_error(load_tensor(state.ssm), expected.state.ssm));
  return error;
}

}  // namespace hybridkv
