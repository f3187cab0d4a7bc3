#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/key_mask.h"

namespace hybridkv {

/// What every attention backend may know of one batch in one group of layers; knows no model.
///
/// R requests with T query tokens altogether, tokens of one request one after the other. A token of
/// request r at context position p lives in slot `block_table[r][p / B] * B + p % B` of the cache.
/// Source: vLLM PR 20466, CommonAttentionMetadata.
/// Example: two requests, a decode at 31 cached tokens and a prompt chunk of 5 after 43:
///   query_start_loc {0, 1, 6}, seq_lens {32, 48}, num_computed_tokens {31, 43}.
struct CommonAttentionMetadata {
  std::vector<std::int64_t> query_start_loc;      ///< (R + 1), first query token of each request, ascending from 0
  std::vector<std::int64_t> seq_lens;             ///< (R), context plus the tokens of this batch
  std::vector<std::int64_t> num_computed_tokens;  ///< (R), context: tokens computed before this batch,
                                                  ///< seq_lens minus the query tokens
  std::int64_t num_reqs = 0;                      ///< R
  std::int64_t num_actual_tokens = 0;             ///< T
  std::int64_t max_query_len = 0;                 ///< largest number of query tokens of a request
  std::int64_t max_seq_len = 0;                   ///< largest of seq_lens
  std::int64_t block_size_tokens = 0;             ///< B, tokens of one block of the block table
  std::int64_t max_blocks_per_req = 0;            ///< columns of the block table
  std::vector<std::int64_t> block_table;          ///< (R, max_blocks_per_req) row by row, block ids, unused entries 0
  std::vector<std::int64_t> slot_mapping;         ///< (T), slot each query token is written to, -1 = nowhere
  bool causal = true;                             ///< a token sees no later one
  bool operator==(const CommonAttentionMetadata&) const = default;

  std::int64_t query_len(std::int64_t request) const {
    return query_start_loc[request + 1] - query_start_loc[request];
  }
  std::int64_t block(std::int64_t request, std::int64_t column) const {
    return block_table[request * max_blocks_per_req + column];
  }
  /// Context position of the i-th query token of a request: the last one stands at seq_len - 1. Negative where a
  /// request has more queries than keys; such a token has no slot and, when causal, sees no key.
  std::int64_t position(std::int64_t request, std::int64_t i) const { return num_computed_tokens[request] + i; }
};

/// The metadata of a causal batch: everything else follows from the lengths and the block table.
/// `query_lens`, `seq_lens` (R); `block_table` (R, max_blocks_per_req) row by row.
/// Throws InputError where a length is negative, the table has another shape, or a row is too short for its
/// request. Throws as `check_metadata`.
CommonAttentionMetadata make_metadata(std::span<const std::int64_t> query_lens,
                                      std::span<const std::int64_t> seq_lens, std::vector<std::int64_t> block_table,
                                      std::int64_t max_blocks_per_req, std::int64_t block_size_tokens,
                                      const KeyMask& mask = {});

/// First column of a request's row that a token of the batch may see under this mask. What stands before it is
/// never looked at: the pool has taken those blocks back.
std::int64_t first_visible_column(const CommonAttentionMetadata& metadata, std::int64_t request, const KeyMask& mask);

/// Throws InputError, naming the request and the numbers, where the fields contradict each other, a row of the
/// block table is too short for its request, or a request lists a block twice among those that it sees.
void check_metadata(const CommonAttentionMetadata& metadata, const KeyMask& mask = {});

}  // namespace hybridkv
