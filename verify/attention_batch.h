#pragma once

#include <optional>
#include <vector>

#include "attention/group_batch.h"
#include "attention/inputs.h"
#include "verify/transfer/traffic.h"

namespace hybridkv {

/// The batch of all requests in each group of a plan: metadata, sizes and decodes, made once and borrowed by all layers
/// of the group. Nothing for states and for formats whose values are not computed here. What has left a window is the
/// null block, as in vLLM.
std::vector<std::optional<GroupBatch>> group_batches(const Traffic& traffic);

/// A batch of one attention layer with the tensors it borrows from.
struct AttentionBatch {
  std::vector<float> query;
  std::vector<float> key_new;
  std::vector<float> value_new;
  AttentionInputs inputs;  ///< spans and views into the above and into the pools
};

/// The batch of a group through the view of one of its layers; K and V of new tokens are those in the cache.
/// Pre: write_kv has run.
AttentionBatch make_attention_batch(const Traffic& traffic, std::size_t view, const GroupBatch& group);

}  // namespace hybridkv
