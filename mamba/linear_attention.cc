#include "mamba/linear_attention.h"

#include <fmt/format.h>

namespace hybridkv {

StateSpec state_of(const LinearAttentionSpec& layer, const StateContext& context) {
  const std::int64_t ranks = context.tensor_parallel;
  if (layer.heads % ranks != 0)
    throw SpecError("engine.tensor_parallel",
                    fmt::format("{} ranks cannot share {} heads of a linear layer; take a divisor: {}", ranks,
                                layer.heads, divisors_text(layer.heads)));
  return place_state_tensors(
      {{"ssm", context.ssm_dtype,
        Layout({{"head", layer.heads / ranks, 0}, {"value", layer.head_dim, 0}, {"key", layer.head_dim, 0}}), 0}});
}

}  // namespace hybridkv
