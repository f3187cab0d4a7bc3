#pragma once

#include "planner/model_parameters.h"
#include "scenarios/hf_shape.h"

namespace hybridkv {

/// Parameters of the attention of one layer: projections with their biases, norms of heads, gates, latents, indexers.
/// `windowed`: it sees a window, so that the swa_* fields are its own; `kind`: its kind in the model file, null where
/// it has none.
/// Throws InputError for numbers too large for 64 bits.
ParameterCounts hf_attention_parameters(const HfShape& layer, bool windowed, const YamlNode* kind);

/// KV heads of that attention; 0 where it keeps latents.
std::int64_t hf_parameter_kv_heads(const HfShape& layer, bool windowed, const YamlNode* kind);

}  // namespace hybridkv
