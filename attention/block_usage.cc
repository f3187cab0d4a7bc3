#include "attention/block_usage.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"

namespace hybridkv {

namespace {

/// Position of a block in the shared list, or -1.
std::int64_t column_of(const std::vector<SharedBlock>& shared, std::int64_t block) {
  const auto found = std::lower_bound(shared.begin(), shared.end(), block,
                                      [](const SharedBlock& candidate, std::int64_t id) { return candidate.id < id; });
  return found == shared.end() || found->id != block ? -1 : found - shared.begin();
}

}  // namespace

std::int64_t cached_tokens(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                           std::int64_t request) {
  if (is_decode[request]) return metadata.seq_lens[request];
  return std::max<std::int64_t>(0, metadata.num_computed_tokens[request]);
}

void for_each_block_use(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                        const std::function<void(const BlockUse&)>& visit, const KeyMask& mask) {
  const std::int64_t block_size = metadata.block_size_tokens;
  std::vector<std::int32_t> starts, usages;
  for (std::int64_t request = 0; request < metadata.num_reqs; ++request) {
    const std::int64_t cached = cached_tokens(metadata, is_decode, request);
    const std::int64_t query_len = metadata.query_len(request);
    for (std::int64_t column = first_visible_column(metadata, request, mask); column < ceil_div(cached, block_size);
         ++column) {
      starts.clear();
      usages.clear();
      for (std::int64_t i = 0; i < query_len; ++i) {
        const std::int64_t position = metadata.position(request, i);
        const std::int64_t seen = metadata.causal ? std::min(cached, position + 1) : cached;
        const std::int64_t usage = std::clamp<std::int64_t>(seen - column * block_size, 0, block_size);
        const std::int64_t start =
            std::clamp<std::int64_t>(mask.first_visible(position) - column * block_size, 0, block_size);
        starts.push_back(start < usage ? static_cast<std::int32_t>(start) : 0);
        usages.push_back(start < usage ? static_cast<std::int32_t>(usage) : 0);
      }
      if (std::any_of(usages.begin(), usages.end(), [](std::int32_t usage) { return usage > 0; }))
        visit({metadata.query_start_loc[request], metadata.block(request, column), starts, usages});
    }
  }
}

BlockPartition partition_blocks(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                                const KeyMask& mask) {
  struct Seen {
    std::int64_t num_tokens = 0;
    std::int64_t last_token = 0;
    std::int32_t slots = 0;
    std::int32_t start = std::numeric_limits<std::int32_t>::max();
  };
  std::vector<Seen> blocks;
  for_each_block_use(metadata, is_decode, [&](const BlockUse& use) {
    if (use.block >= static_cast<std::int64_t>(blocks.size())) blocks.resize(use.block + 1);
    Seen& seen = blocks[use.block];
    for (std::size_t i = 0; i < use.usages.size(); ++i) {
      if (use.usages[i] == 0) continue;
      ++seen.num_tokens;
      seen.last_token = use.first_token + static_cast<std::int64_t>(i);
      seen.slots = std::max(seen.slots, use.usages[i]);
      seen.start = std::min(seen.start, use.starts[i]);
    }
  }, mask);
  BlockPartition partition;
  for (std::size_t id = 0; id < blocks.size(); ++id) {
    const Seen& seen = blocks[id];
    const auto block = static_cast<std::int64_t>(id);
    if (seen.num_tokens > 1) partition.shared.push_back({block, seen.slots, seen.start});
    if (seen.num_tokens == 1) partition.unique.push_back({block, seen.last_token, seen.slots, seen.start});
  }
  return partition;
}

void for_each_shared_usage(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                           const std::vector<SharedBlock>& shared, const std::function<void(const SharedUsage&)>& visit,
                           const KeyMask& mask) {
  for_each_block_use(metadata, is_decode, [&](const BlockUse& use) {
    const std::int64_t column = column_of(shared, use.block);
    if (column < 0) return;
    for (std::size_t i = 0; i < use.usages.size(); ++i)
      if (use.usages[i] > 0)
        visit({use.first_token + static_cast<std::int64_t>(i), column, use.starts[i], use.usages[i]});
  }, mask);
}

BlockUsages block_usages(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                         const std::vector<SharedBlock>& shared, std::int64_t chunk_blocks, MemoryReport& memory,
                         const KeyMask& mask) {
  BlockUsages result;
  result.num_tokens = metadata.num_actual_tokens;
  result.num_columns = round_up(static_cast<std::int64_t>(shared.size()), chunk_blocks);
  result.values =
      memory.allocate_bias<std::int32_t>("block_usages", {result.num_tokens, result.num_columns}, 0);
  if (mask.kind != MaskKind::full)
    result.starts = memory.allocate_bias<std::int32_t>("block_starts", {result.num_tokens, result.num_columns}, 0);
  for_each_shared_usage(metadata, is_decode, shared, [&](const SharedUsage& seen) {
    const std::int64_t pair = seen.token * result.num_columns + seen.column;
    result.values[pair] = seen.usage;
    if (!result.starts.empty()) result.starts[pair] = seen.start;
  }, mask);
  return result;
}

std::int64_t usage_coordinates_length(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                                      const std::vector<SharedBlock>& shared) {
  if (shared.empty()) return 0;
  std::int64_t entries = 0;
  for_each_shared_usage(metadata, is_decode, shared, [&](const SharedUsage&) { ++entries; });
  return round_up(entries, Checked(static_cast<std::int64_t>(shared.size())) * metadata.block_size_tokens);
}

UsageCoordinates usage_coordinates(const CommonAttentionMetadata& metadata, const std::vector<bool>& is_decode,
                                   const std::vector<SharedBlock>& shared, MemoryReport& memory) {
  UsageCoordinates result;
  result.length = usage_coordinates_length(metadata, is_decode, shared);
  result.values =
      memory.allocate_bias<std::int32_t>("usage_coordinates", {3, result.length}, UsageCoordinates::padding);
  std::int64_t next = 0;
  for_each_shared_usage(metadata, is_decode, shared, [&](const SharedUsage& seen) {
    result.tokens()[next] = static_cast<std::int32_t>(seen.token);
    result.columns()[next] = static_cast<std::int32_t>(seen.column);
    result.usages()[next] = seen.usage;
    ++next;
  });
  return result;
}

}  // namespace hybridkv
