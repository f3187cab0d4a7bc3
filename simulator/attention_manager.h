#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/block_pool.h"
#include "simulator/cache_geometry.h"
#include "simulator/chain_hash.h"
#include "simulator/group_keys.h"
#include "simulator/request_blocks.h"

namespace hybridkv {

/// The attention groups of a cache: blocks of B tokens, found again by their chain hash. A group with a window or chunk
/// gives back what no later token of the request sees; its table then has the null block there.
class AttentionManager {
 public:
  /// Both outlive the manager.
  AttentionManager(const CacheGeometry& geometry, BlockPool& pool);

  /// Longest run of cached blocks from the start of a prompt that ends at or before `limit` tokens: full blocks
  /// first, then the longest partial tail; a block counts only if every attention group holds it. A drafter drops
  /// the last matched unit. Writes the blocks into `request.attention` without holding them; returns the tokens.
  std::int64_t match(std::span<const PrefixKey> keys, std::int64_t limit, RequestBlocks& request);

  /// Forgets matched blocks behind the joint hit.
  void trim(RequestBlocks& request, std::int64_t hit_tokens) const;

  /// Gives back the blocks that no token from `computed` on sees, the latest first.
  /// Source: vLLM SingleTypeKVCacheManager.remove_skipped_blocks.
  void give_back_passed(RequestBlocks& request, std::int64_t computed);
  /// Takes the blocks that no token from `computed` on sees out of tables that were matched and are not held.
  void skip_passed(RequestBlocks& request, std::int64_t computed) const;

  /// Blocks to take so that `tokens` tokens have room. `held`: blocks the request keeps (a shared tail is not kept).
  std::int64_t needed(std::int64_t held, std::int64_t tokens) const;
  /// Blocks of the request that it will keep when it goes on.
  std::int64_t kept(const RequestBlocks& request) const;

  /// Takes the blocks for `tokens` tokens; a shared tail is replaced by a copy first, and added to `copied`.
  void grow(RequestBlocks& request, std::int64_t tokens, std::vector<BlockCopy>& copied);

  /// Publishes the full blocks of the first `tokens` tokens and, where they reach it, the partial tail that ends at
  /// `partial_end` (0 = none). Pre: keys reach that far.
  void publish(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t tokens, std::int64_t partial_end,
               std::int64_t step);

  /// Keys of the attention groups.
  const GroupKeys& group_keys() const { return group_keys_; }

 private:
  // Holds nothing; appends the block of every group, or nothing where one group lacks it.
  bool append_found(PrefixKey key, RequestBlocks& request);
  // Calls visit(block) for every such block, the latest of a group first, and leaves the null block in its place.
  template <class Visit>
  void take_out_passed(RequestBlocks& request, std::int64_t computed, Visit&& visit) const;

  const CacheGeometry& geometry_;
  BlockPool& pool_;
  GroupKeys group_keys_;
};

}  // namespace hybridkv
