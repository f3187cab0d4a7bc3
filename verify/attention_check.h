#pragma once

#include <string>

#include "attention/inputs.h"
#include "attention/unified.h"
#include "verify/check_result.h"
#include "verify/traffic.h"

namespace hybridkv {

/// A batch of one attention layer with the tensors it borrows from.
struct AttentionBatch {
  std::vector<float> query;
  std::vector<float> key_new;
  std::vector<float> value_new;
  AttentionInputs inputs;  ///< spans and views into the above and into the pools
};

/// The batch of all requests through the view of one attention layer; K and V of new tokens are those in the cache.
/// Pre: write_kv has run, the view is one of an attention layer.
AttentionBatch make_attention_batch(const Traffic& traffic, std::size_t view);

/// Unified attention of every attention layer through its view against the dense float64 reference.
/// `count` = output elements; `max_error` absolute. Source: domain section 8.
CheckResult check_attention(const Traffic& traffic, SharedBiasMode bias, std::string name);

}  // namespace hybridkv
