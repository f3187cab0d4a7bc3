#include "mamba/gdn.h"

#include <fmt/format.h>

namespace hybridkv {

StateSpec state_of(const GdnSpec& layer, const StateContext& context) {
  const std::int64_t ranks = context.tensor_parallel;
  if (layer.key_heads % ranks != 0 || layer.value_heads % ranks != 0)
    throw SpecError("engine.tensor_parallel",
                    fmt::format("{} ranks cannot share {} key heads and {} value heads of a gdn layer; "
                                "take a divisor of both: {}",
                                ranks, layer.key_heads, layer.value_heads,
                                divisors_text(std::gcd(layer.key_heads, layer.value_heads))));
  const Checked key_width = Checked(layer.key_heads) * layer.key_head_dim;
  const Checked value_width = Checked(layer.value_heads) * layer.value_head_dim;
  const Axis steps{"step", Checked(layer.conv_kernel) - 1 + context.speculative_tokens, 0};
  const Axis channels{"channel", (2 * key_width + value_width) / ranks, 0};
  const Axis heads{"head", layer.value_heads / ranks, 0};
  return place_state_tensors({
      {"conv", context.conv_dtype, Layout({steps, channels}), 0},
      {"ssm", context.ssm_dtype,
       Layout({heads, {"value", layer.value_head_dim, 0}, {"key", layer.key_head_dim, 0}}), 0},
  });
}

}  // namespace hybridkv
