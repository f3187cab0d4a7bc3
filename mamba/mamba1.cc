#include "mamba/mamba1.h"

#include <fmt/format.h>

namespace hybridkv {

StateSpec state_of(const Mamba1Spec& layer, const StateContext& context) {
  const std::int64_t ranks = context.tensor_parallel;
  if (layer.inner_size % ranks != 0)
    throw SpecError("engine.tensor_parallel",
                    fmt::format("{} ranks cannot share {} channels of a mamba1 layer; take a divisor: {}", ranks,
                                layer.inner_size, divisors_text(layer.inner_size)));
  const Axis channels{"channel", layer.inner_size / ranks, 0};
  return place_state_tensors({
      {"conv", context.conv_dtype, Layout({{"step", layer.conv_kernel - 1, 0}, channels}), 0},
      {"ssm", context.ssm_dtype, Layout({channels, {"state", layer.state_size, 0}}), 0},
  });
}

}  // namespace hybridkv
