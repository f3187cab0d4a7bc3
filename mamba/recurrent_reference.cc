#include "mamba/recurrent_reference.h"

namespace hybridkv {

RecurrentStateRef initial_state(const RecurrentSpec& rank_layer) {
  RecurrentStateRef state;
  for (const StateTensor& tensor : state_of(rank_layer, {}).tensors)
    (tensor.name == "conv" ? state.conv : state.ssm).assign(tensor.layout.num_elements(), 0.0);
  return state;
}

void run_reference(const RecurrentLayer& layer, std::span<const double> inputs, RecurrentStateRef& state,
                   std::span<double> outputs) {
  const std::size_t in = input_width(layer.spec);
  const std::size_t out = output_width(layer.spec);
  expects(inputs.size() / in * in == inputs.size() && outputs.size() == inputs.size() / in * out,
          "inputs and outputs are whole rows of as many tokens");
  for (std::size_t token = 0; token < inputs.size() / in; ++token)
    std::visit([&](const auto& family) {
      run_token(family, layer.weights, inputs.subspan(token * in, in), state, outputs.subspan(token * out, out));
    }, layer.spec);
}

}  // namespace hybridkv
