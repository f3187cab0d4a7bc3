#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "planner/model_parameters.h"

namespace hybridkv {

/// How ranks share the weights of a model.
struct WeightSplit {
  std::int64_t tensor_parallel = 1;    ///< ranks of a stage, >= 1
  std::int64_t pipeline_parallel = 1;  ///< stages, >= 1
  std::int64_t expert_parallel = 0;    ///< ranks that deal out whole experts; 0: experts are split as all else
  bool with_drafts = false;            ///< layers that draft tokens are loaded too
};

/// Bytes of the weights on the rank that holds most: parts that heads, channels or the vocabulary share are divided,
/// rounded up; K and V are copied where there are fewer KV heads than ranks, and latents, norms and routers on every
/// rank. Elements are of `dtype`, those of layers where the model is quantised of its weight_bits. Layers spread evenly
/// over stages, of which the first has the tables of tokens and the last the head.
/// Throws InputError for numbers too large for 64 bits.
/// Example: Llama-3-8B at TP 2 in bf16: 8.03 GB.
std::int64_t weight_bytes_per_rank(const ModelParameters& parameters, const WeightSplit& split, DType dtype);

}  // namespace hybridkv
