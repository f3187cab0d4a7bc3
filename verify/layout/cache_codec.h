#pragma once

#include "attention/kv_codec.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// How K or V of a layer is kept: in its format, where it has one; elements of fp8 and int8, and nvfp4, with a scale of
/// the tensor by which `reach` becomes the largest value that can be stored; other elements as they are. `reach` > 0.
KvCodec cache_codec(const AttentionGeometry& attention, float reach);

/// Whether the values that the cache of this layer holds can be computed here.
bool has_values(const AttentionGeometry& attention);

}  // namespace hybridkv
