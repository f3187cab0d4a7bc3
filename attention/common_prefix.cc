#include "attention/common_prefix.h"

#include <algorithm>
#include <optional>

namespace hybridkv {

std::int64_t common_prefix_tokens(const CommonAttentionMetadata& metadata) {
  std::optional<std::int64_t> first_request;
  std::int64_t common_blocks = 0;
  for (std::int64_t request = 0; request < metadata.num_reqs; ++request) {
    if (metadata.query_len(request) == 0) continue;
    const std::int64_t context = std::max<std::int64_t>(0, metadata.num_computed_tokens[request]);
    const std::int64_t whole_blocks = context / metadata.block_size_tokens;
    if (!first_request) {
      first_request = request;
      common_blocks = whole_blocks;
      continue;
    }
    std::int64_t equal = 0;
    while (equal < std::min(common_blocks, whole_blocks) &&
           metadata.block(request, equal) == metadata.block(*first_request, equal))
      ++equal;
    common_blocks = equal;
  }
  return common_blocks * metadata.block_size_tokens;
}

}  // namespace hybridkv
