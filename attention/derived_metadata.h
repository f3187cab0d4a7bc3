#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "attention/metadata.h"

namespace hybridkv {

/// The metadata of a batch after a transform that rewrites nothing else: virtual batches, microbatches.
///
/// It is an ordinary batch to every backend; its R requests are pieces of requests of the original batch, in their
/// order, and its tokens are consecutive tokens of the original.
struct DerivedMetadata {
  CommonAttentionMetadata metadata;
  std::vector<std::int64_t> source_request;  ///< (R), the original request that each request is a piece of

  /// What the original says of each request, piece by piece: a piece of a decode is a decode.
  std::vector<bool> decodes_of(const std::vector<bool>& is_decode) const {
    std::vector<bool> result;
    for (const std::int64_t request : source_request) result.push_back(is_decode[request]);
    return result;
  }

  /// Appends a request: the next `query_len` tokens, its sequence ends with the last of them.
  void append(std::int64_t source, std::int64_t query_len, std::int64_t seq_len) {
    if (metadata.query_start_loc.empty()) metadata.query_start_loc.push_back(0);
    source_request.push_back(source);
    ++metadata.num_reqs;
    metadata.num_actual_tokens += query_len;
    metadata.query_start_loc.push_back(metadata.num_actual_tokens);
    metadata.seq_lens.push_back(seq_len);
    metadata.num_computed_tokens.push_back(seq_len - query_len);
    metadata.max_query_len = std::max(metadata.max_query_len, query_len);
    metadata.max_seq_len = std::max(metadata.max_seq_len, seq_len);
  }
};

}  // namespace hybridkv
