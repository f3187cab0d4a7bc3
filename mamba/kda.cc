#include "mamba/kda.h"

#include <fmt/format.h>

namespace hybridkv {

StateSpec state_of(const KdaSpec& layer, const StateContext& context) {
  const std::int64_t ranks = context.tensor_parallel;
  if (layer.heads % ranks != 0)
    throw SpecError("engine.tensor_parallel",
                    fmt::format("{} ranks cannot share {} heads of a kda layer; take a divisor: {}", ranks, layer.heads,
                                divisors_text(layer.heads)));
  const std::int64_t drafts = layer.conv_holds_drafts ? context.speculative_tokens : 0;
  const Axis steps{"step", Checked(layer.conv_kernel) - 1 + drafts, 0};
  const Axis channels{"channel", 3 * Checked(layer.heads) * layer.head_dim / ranks, 0};
  const Axis heads{"head", layer.heads / ranks, 0};
  return place_state_tensors({
      {"conv", context.conv_dtype, Layout({steps, channels}), 0},
      {"ssm", context.ssm_dtype, Layout({heads, {"value", layer.head_dim, 0}, {"key", layer.head_dim, 0}}), 0},
  });
}

}  // namespace hybridkv
