#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attention/attention_shape.h"
#include "attention/metadata.h"

namespace hybridkv {

/// One batch in one group of layers: all that a backend may plan with. Owns the metadata together with everything that
/// is made of it, so that neither a backend nor a layer copies them.
struct GroupBatch {
  std::shared_ptr<const CommonAttentionMetadata> common;  ///< not null
  AttentionShape shape;                                   ///< of all layers of the group
  /// Leading tokens that all requests have in common, at most those that `common_prefix_tokens` finds; 0 = none is made
  /// use of. Only the cascade does.
  std::int64_t common_prefix_tokens = 0;
  /// (R), see AttentionInputs; empty: by the number of query tokens, see `decodes_by_length`. Only unified looks.
  std::vector<bool> is_decode = {};
};

/// The batch with its longest common prefix, none under a window or chunk, which hides it.
GroupBatch make_group_batch(std::shared_ptr<const CommonAttentionMetadata> common, const AttentionShape& shape,
                            std::vector<bool> is_decode = {});

}  // namespace hybridkv
