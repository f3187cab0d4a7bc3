#include "mamba/short_conv.h"

#include <fmt/format.h>

namespace hybridkv {

StateSpec state_of(const ShortConvSpec& layer, const StateContext& context) {
  const std::int64_t ranks = context.tensor_parallel;
  if (layer.channels % ranks != 0)
    throw SpecError("engine.tensor_parallel",
                    fmt::format("{} ranks cannot share {} channels of a short_conv layer; take a divisor: {}", ranks,
                                layer.channels, divisors_text(layer.channels)));
  return place_state_tensors({{"conv", context.conv_dtype,
                               Layout({{"step", layer.conv_kernel - 1, 0}, {"channel", layer.channels / ranks, 0}}),
                               0}});
}

}  // namespace hybridkv
