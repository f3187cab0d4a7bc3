#include "attention/group_batch.h"

#include <utility>

#include "attention/common_prefix.h"

namespace hybridkv {

GroupBatch make_group_batch(std::shared_ptr<const CommonAttentionMetadata> common, const AttentionShape& shape,
                            std::vector<bool> is_decode) {
  const std::int64_t prefix = shape.mask.kind == MaskKind::full ? common_prefix_tokens(*common) : 0;
  return {std::move(common), shape, prefix, std::move(is_decode)};
}

}  // namespace hybridkv
