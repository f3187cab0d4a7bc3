#pragma once

#include <cstdint>
#include <optional>

#include "mamba/recurrent_spec.h"
#include "planner/token_state_split.h"

namespace hybridkv {

/// Tokens whose inputs ReplaySSM keeps; a step has at most so many drafts (SGLang --linear-replayssm-cache-len).
inline constexpr std::int64_t replayed_tokens = 16;

/// The row that ReplaySSM keeps of `layers` layers of this kind, on one rank: for each of replayed_tokens tokens
///   gdn  k and v in the dtype of the convolution with what rounding took off them, and an fp32 decay of each value
///        head; rows of the running requests
///   kda  raw k and v, corrected k and v, an fp32 decay of each channel of k, an fp32 beta of each head; in every slot
/// Nothing for other families: their states of draft steps stay. Source: SGLang 0.5.23; gdn run, kda read.
/// Example: Qwen3.5-27B at TP2, 48 layers: 12,656,640 bytes.
std::optional<ReplayRing> replay_ring(const RecurrentSpec& layer, std::int64_t layers, const StateContext& context);

}  // namespace hybridkv
