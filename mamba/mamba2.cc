#include "mamba/mamba2.h"

#include <fmt/format.h>

namespace hybridkv {

namespace {

/// Number of groups all ranks hold together.
std::int64_t replicated_groups(const Mamba2Spec& layer, std::int64_t ranks) {
  if (layer.groups % ranks == 0) return layer.groups;
  if (ranks < layer.groups)
    throw SpecError("engine.tensor_parallel",
                    fmt::format("{} ranks cannot share {} groups of a mamba2 layer; take a divisor ({}) or at least {}",
                                ranks, layer.groups, divisors_text(layer.groups), layer.groups));
  return ranks;
}

}  // namespace

StateSpec state_of(const Mamba2Spec& layer, const StateContext& context) {
  const std::int64_t ranks = context.tensor_parallel;
  if (layer.heads % ranks != 0)
    throw SpecError("engine.tensor_parallel",
                    fmt::format("{} ranks cannot share {} heads of a mamba2 layer; take a divisor: {}", ranks,
                                layer.heads, divisors_text(layer.heads)));
  const Checked inner = Checked(layer.heads) * layer.head_dim;
  const Checked shared = 2 * Checked(replicated_groups(layer, ranks)) * layer.state_size;
  const Axis steps{"step", Checked(layer.conv_kernel) - 1 + context.speculative_tokens, 0};
  const Axis channels{"channel", (inner + shared) / ranks, 0};
  const Axis heads{"head", layer.heads / ranks, 0};
  return place_state_tensors({
      {"conv", context.conv_dtype, Layout({steps, channels}), 0},
      {"ssm", context.ssm_dtype, Layout({heads, {"dim", layer.head_dim, 0}, {"state", layer.state_size, 0}}), 0},
  });
}

}  // namespace hybridkv
