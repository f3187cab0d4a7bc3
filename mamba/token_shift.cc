#include "mamba/token_shift.h"

#include <algorithm>

#include "mamba/causal_conv.h"
#include "mamba/chunk_rows.h"
#include "mamba/reference_step.h"

namespace hybridkv {

StateTensor shift_tensor(std::int64_t hidden_size, const StateContext& context) {
  return {"conv", context.conv_dtype, Layout({{"step", shift_taps - 1, 0}, {"channel", 2 * Checked(hidden_size), 0}}),
          0};
}

std::vector<AxisRule> shift_rules(std::int64_t hidden_size) {
  return {{"conv", "step", "the token before", {{"tokens", shift_taps - 1}}},
          {"conv", "channel", "2 * hidden size, of time and channel mixing, whole on every rank",
           {{"hidden size", hidden_size}}}};
}

std::vector<ChannelSection> shift_sections(std::int64_t hidden_size) {
  return {{"time mixing", 1, hidden_size}, {"channel mixing", 1, hidden_size}};
}

void shift_token(const RecurrentWeights& weights, std::span<const double> input, RecurrentStateRef& state,
                 std::span<double> output) {
  const std::vector<double> mixed = reference::convolve(weights, input.first(weights.conv_bias.size()), state.conv);
  std::copy(mixed.begin(), mixed.end(), output.end() - std::ssize(mixed));
}

void shift_chunk(const RecurrentWeights& weights, const ChunkRows& rows, RunningState& state) {
  const std::int64_t width = std::ssize(weights.conv_bias);
  const std::vector<float> mixed =
      causal_conv(columns(rows, 0, width), state.conv, weights.conv, weights.conv_bias);
  for (std::int64_t token = 0; token < rows.tokens; ++token)
    std::copy_n(mixed.data() + token * width, width, rows.output(token) + rows.output_width - width);
}

}  // namespace hybridkv
