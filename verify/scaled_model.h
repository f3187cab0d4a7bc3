#pragma once

#include "planner/model_spec.h"

namespace hybridkv {

/// The same model at a reduced width: the same layers in the same order, the same families, the same numbers of query
/// heads per KV head, value heads per key head and heads per group, but head counts and head sizes divided by `scale`.
///
/// A head keeps at least 8 channels and a model at least one head; widths that are heads times channels (mamba1,
/// short_conv) are divided by scale twice; so are windows, which keep at least 12 tokens; chunks of a scan by `scale`,
/// to at least 16 tokens. Scale 1 is the model itself.
/// Pre: scale >= 1. Example: 32 query heads over 2 KV heads of 256 become, at scale 16, 16 over one of 16.
ModelSpec scaled_model(const ModelSpec& model, std::int64_t scale);

}  // namespace hybridkv
