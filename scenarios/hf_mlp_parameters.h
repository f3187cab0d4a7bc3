#pragma once

#include "planner/model_parameters.h"
#include "scenarios/hf_shape.h"

namespace hybridkv {

/// What stands behind the mixer of a layer, or in its place.
enum class HfMlp {
  by_rule,  ///< an MLP or experts, as the fields say of this layer
  dense,    ///< an MLP
  experts,
};

/// Parameters of the MLP of one layer: dense, or experts with their router.
/// Throws InputError for numbers too large for 64 bits.
ParameterCounts hf_mlp_parameters(const HfShape& layer, HfMlp mlp);

/// Routed experts of a layer, and of those the number that one token takes; 0 where it has none.
std::int64_t hf_experts(const HfShape& shape);
std::int64_t hf_experts_per_token(const HfShape& shape);

}  // namespace hybridkv
