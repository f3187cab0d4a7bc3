#pragma once

#include <cstdint>
#include <vector>

#include "attention/attention_shape.h"
#include "attention/metadata.h"
#include "attention/paged_kernel.h"

namespace hybridkv {

/// Keys after which a row's running triple is merged into its result; a multiple of the tile. Splits begin at
/// multiples of it in the positions of a sequence and merge in their order, so that neither the batch nor the number
/// of threads changes a bit of the result.
inline constexpr std::int64_t paged_split_tokens = 8 * paged_tile_tokens;

/// Neighbouring query tokens of one request.
struct PagedSegment {
  std::int64_t request = 0;
  std::int64_t first = 0;   ///< of the request's query tokens
  std::int64_t count = 0;
  bool operator==(const PagedSegment&) const = default;
};

/// What one thread computes in one go: the rows of some segments against consecutive splits, for some KV heads.
struct PagedItem {
  std::int64_t first_segment = 0, last_segment = 0;  ///< [first, last) of PagedPlan::segments
  std::int64_t first_head = 0, last_head = 0;        ///< KV heads [first, last)
  std::int64_t first_split = 0, last_split = 0;      ///< [first, last)
  /// First row of PagedPlan::partial_rows that takes the triples of the item's (head, row), for a split that is
  /// computed apart from those before it; -1: they merge into the result.
  std::int64_t partial_row = -1;
  std::int64_t cost = 0;                             ///< (row, key) pairs, for balance
};

/// The paged backend's own metadata: who computes what. Borrows nothing.
///
/// Requests with few rows whose sequences begin with the same blocks are taken together for the splits that all of
/// them hold whole (`shared_items`): the keys are converted once for all. Everything else is an item per segment.
/// Long sequences of a batch with little to share out are cut into their splits.
struct PagedPlan {
  std::vector<PagedSegment> segments;
  std::vector<PagedItem> shared_items;  ///< computed first
  std::vector<PagedItem> items;
  std::vector<PagedItem> merges;        ///< the items with partial rows, in the order in which they merge
  std::int64_t partial_rows = 0;
  std::int64_t max_rows = 0;            ///< most rows of a head of one item
  std::int64_t max_head_rows = 0;       ///< most (head, row) of one item
};

/// Keys that the i-th query token of a request sees: positions [first, last), empty where first >= last.
struct VisibleKeys {
  std::int64_t first = 0, last = 0;
};
VisibleKeys visible_keys(const CommonAttentionMetadata& metadata, std::int64_t request, std::int64_t i,
                         const KeyMask& mask);

/// Shares the batch out among so many threads. Pre: check_metadata, threads >= 1. Source of plan() apart from run():
/// FlashInfer; of splitting long contexts: Flash-Decoding; of taking a common prefix together: Hydragen, vLLM's cascade
/// attention.
PagedPlan plan_paged(const CommonAttentionMetadata& metadata, const AttentionShape& shape, std::int64_t threads);

}  // namespace hybridkv
