#pragma once

#include <cstdint>
#include <string>

#include "planner/engine_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// The weights of a model on one rank, from its parameters.
struct CountedWeights {
  std::int64_t bytes = 0;
  std::string basis;  ///< in words: "27.4 B parameters in bf16 on 2 ranks, without vision"
};

/// What the model's weights take on the rank that holds most. Throws InputError where its file states no parameters.
CountedWeights counted_weights(const ModelSpec& model, const EngineSpec& engine);

}  // namespace hybridkv
