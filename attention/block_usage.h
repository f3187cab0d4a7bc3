#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attention/memory_report.h"
#include "attention/metadata.h"

namespace hybridkv {

/// The cached tokens of a request: its context, and its new tokens too when it is a decode.
/// Source: vllm-gaudi PR 784.
std::int64_t cached_tokens(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                           std::int64_t request);

/// How much the query tokens of one request may see of one cached block: token `first_token + i` sees slots
/// `starts[i]` to `usages[i]` - 1, none where both are 0. Starts other than 0 come from a window or chunk alone.
/// Example: a prompt chunk of 2 tokens after 6 cached ones, blocks of 4: usages {4, 4} of its first block, {2, 2}
/// of its second. A decode of 2 tokens after 6 reads its own tokens too: {4, 4} and {3, 4}.
struct BlockUse {
  std::int64_t first_token = 0;
  std::int64_t block = 0;                 ///< block id
  std::span<const std::int32_t> starts;   ///< one per query token of the request
  std::span<const std::int32_t> usages;   ///< one per query token of the request, not all 0
};

/// Calls `visit` for every request and cached block of it that a token of the batch may see, requests and blocks
/// in the order of the block table. `usages` is valid during the call only.
/// Source: vllm-gaudi PR 784; the mask is ours.
void for_each_block_use(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                        const std::function<void(const BlockUse&)>& visit, const KeyMask& mask = {});

/// A cached block that more than one query token of the batch sees.
struct SharedBlock {
  std::int64_t id = 0;
  std::int32_t slots = 0;  ///< one more than the last slot that a token sees; nothing beyond is read
  std::int32_t start = 0;  ///< the first slot that a token sees; nothing before is read
  bool operator==(const SharedBlock&) const = default;
};

/// A cached block that exactly one query token of the batch sees.
struct UniqueBlock {
  std::int64_t id = 0;
  std::int64_t token = 0;  ///< the query token
  std::int32_t slots = 0;  ///< one more than the last slot it sees
  std::int32_t start = 0;  ///< the first slot it sees
  bool operator==(const UniqueBlock&) const = default;
};

/// All cached blocks that a token of the batch sees, by ascending id.
struct BlockPartition {
  std::vector<SharedBlock> shared;
  std::vector<UniqueBlock> unique;
  bool operator==(const BlockPartition&) const = default;
};
BlockPartition partition_blocks(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                                const KeyMask& mask = {});

/// What one query token sees of one shared block.
struct SharedUsage {
  std::int64_t token = 0;
  std::int64_t column = 0;  ///< position of the block in the list of shared blocks
  std::int32_t start = 0;   ///< first slot it sees
  std::int32_t usage = 0;   ///< one more than the last slot it sees, > start
};

/// Calls `visit` for every query token and shared block it sees. Pre: `shared` is sorted by id.
void for_each_shared_usage(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                           const std::vector<SharedBlock>& shared, const std::function<void(const SharedUsage&)>& visit,
                           const KeyMask& mask = {});

/// Usage of every shared block by every query token, dense: what a bias of any chunk is generated from.
struct BlockUsages {
  std::int64_t num_tokens = 0;
  std::int64_t num_columns = 0;      ///< shared blocks, rounded up to the chunk; columns beyond them are 0
  std::vector<std::int32_t> values;  ///< (token, column), columns in the order of BlockPartition::shared
  std::vector<std::int32_t> starts;  ///< (token, column), the first slot seen; empty under the full mask
};
/// Scatters the usages on the host; enters the table into `memory` as "block_usages", and under a window or chunk
/// the starts as "block_starts".
BlockUsages block_usages(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                         const std::vector<SharedBlock>& shared, std::int64_t chunk_blocks, MemoryReport& memory,
                         const KeyMask& mask = {});

/// The same usages as a list of coordinates, padded so that an accelerator sees few shapes. A padding entry has
/// token -1 and says nothing about any pair. Knows the full mask only.
struct UsageCoordinates {
  static constexpr std::int32_t padding = -1;
  std::int64_t length = 0;           ///< entries, padding included
  std::vector<std::int32_t> values;  ///< (3, length): tokens, then columns, then usages
  std::span<std::int32_t> tokens() { return std::span(values).subspan(0, length); }
  std::span<std::int32_t> columns() { return std::span(values).subspan(length, length); }
  std::span<std::int32_t> usages() { return std::span(values).subspan(2 * length, length); }
  std::span<const std::int32_t> tokens() const { return std::span(values).subspan(0, length); }
  std::span<const std::int32_t> columns() const { return std::span(values).subspan(length, length); }
  std::span<const std::int32_t> usages() const { return std::span(values).subspan(2 * length, length); }
};
/// Length of the list: its entries rounded up to a multiple of shared blocks * block size.
std::int64_t usage_coordinates_length(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                                      const std::vector<SharedBlock>& shared);
/// Enters the list into `memory` as "usage_coordinates".
/// Source: the sparse path of vllm-gaudi, whose padding entry masked the last pair.
UsageCoordinates usage_coordinates(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                                   const std::vector<SharedBlock>& shared, MemoryReport& memory);

}  // namespace hybridkv
