#pragma once

#include <array>
#include <vector>

#include "attention/inputs.h"
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

/// Unified attention of every attention layer through its view and under its mask against the dense float64 reference,
/// with a full and with a chunked bias: checks "attention-full" and "attention-chunked".
/// `count` = elements of output and log-sum-exp; `max_error` absolute. Source: vllm-gaudi PR 784.
std::array<CheckResult, 2> check_attention(const Traffic& traffic);

}  // namespace hybridkv
