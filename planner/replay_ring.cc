#include "planner/replay_ring.h"

#include <algorithm>

#include "base/checked.h"

namespace hybridkv {

namespace {

constexpr std::int64_t fp32_bytes = 4;

ReplayRing ring_of(Checked bytes_per_token, std::int64_t layers, bool in_state_slots) {
  return {bytes_per_token * replayed_tokens * layers, in_state_slots};
}

}  // namespace

std::optional<ReplayRing> replay_ring(const RecurrentSpec& layer, std::int64_t layers, const StateContext& context) {
  const std::int64_t element = element_bytes(context.conv_dtype), ranks = context.tensor_parallel;
  if (const auto* gdn = std::get_if<GdnSpec>(&layer)) {
    const Checked keys = Checked(gdn->key_heads / ranks) * gdn->key_head_dim;
    const Checked values = Checked(gdn->value_heads / ranks) * gdn->value_head_dim;
    // A short element and its remainder make an fp32.
    return ring_of((keys + values) * std::max(element, fp32_bytes) + Checked(gdn->value_heads / ranks) * fp32_bytes,
                   layers, false);
  }
  if (const auto* kda = std::get_if<KdaSpec>(&layer)) {
    const Checked heads = kda->heads / ranks;
    const Checked channels = heads * kda->head_dim;
    return ring_of(channels * 4 * element + channels * fp32_bytes + heads * fp32_bytes, layers, true);
  }
  return std::nullopt;
}

}  // namespace hybridkv
