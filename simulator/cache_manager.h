#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "simulator/attention_manager.h"
#include "simulator/block_pool.h"
#include "simulator/cache_geometry.h"
#include "simulator/chain_hash.h"
#include "simulator/request_blocks.h"
#include "simulator/state_manager.h"

namespace hybridkv {

/// What a look-up found for one prompt.
struct PrefixHit {
  std::int64_t tokens = 0;           ///< found in every group
  std::int64_t uncached_common = 0;  ///< u: further tokens that attention alone matched
  bool operator==(const PrefixHit&) const = default;
};

/// One prompt as the cache sees it.
struct CachedPrompt {
  std::span<const PrefixKey> keys;  ///< chain hash at every match unit, as far as content is known; nothing behind
                                    ///< that is published
  std::int64_t tokens = 0;          ///< n: what is to be prefilled
};

/// All groups of one cache over one pool: joint look-up, admission, growth, publication and release.
///
/// The life of a request: `look_up`, `admit` with its first chunk, `advance` with every later chunk or decoded
/// token, `release`. Steps are the engine's: `begin_step` before, `end_step` after the requests of one step.
class CacheManager {
 public:
  /// Throws SpecError for an unusable geometry, ResourceError where the pool does not fit memory.
  explicit CacheManager(const CacheGeometry& geometry);
  CacheManager(const CacheManager&) = delete;
  CacheManager& operator=(const CacheManager&) = delete;

  const CacheGeometry& geometry() const { return geometry_; }
  const BlockPool& pool() const { return *pool_; }

  void begin_step() { ++step_; }
  /// Lets go of the blocks that were copied in this step.
  void end_step();

  /// An empty set of blocks with a table for every group.
  RequestBlocks make_request() const;

  /// Longest prefix that all groups hold, never the last token. Writes the found blocks into `request`, not held.
  PrefixHit look_up(RequestBlocks& request, const CachedPrompt& prompt);

  /// Holds the found blocks and takes those of the first chunk. False, without any change to the pool, where the
  /// whole prompt would not fit beside `reserve` free blocks or its state was published in this very step.
  bool admit(RequestBlocks& request, const CachedPrompt& prompt, const PrefixHit& hit, std::int64_t chunk,
             std::int64_t reserve);

  /// Drops passed states, gives back blocks behind windows and takes the blocks of the next `chunk` tokens. False where the pool has too few.
  /// `branch`: tokens of the request's branch point, 0 = none.
  bool advance(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t computed, std::int64_t chunk,
               std::int64_t branch);

  /// Gives back the attention blocks that no token from `computed` on sees; `advance` begins with it.
  void give_back_passed(RequestBlocks& request, std::int64_t computed) {
    attention_.give_back_passed(request, computed);
  }

  /// Gives back everything: groups in order, each with its last block first.
  void release(RequestBlocks& request);

  /// Copies of shared blocks that this step orders, in order: what a tensor engine does before it computes.
  std::span<const BlockCopy> copies() const { return copied_; }
  std::int64_t copied_states() const { return copied_states_; }      ///< so far, counted per group
  std::int64_t copied_attention() const { return copied_attention_; }///< blocks, so far, counted per group

 private:
  friend struct CachePeek;

  void grow_and_publish(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t end, bool first_chunk,
                        std::int64_t branch);

  CacheGeometry geometry_;
  std::unique_ptr<BlockPool> pool_;
  AttentionManager attention_;
  StateManager states_;
  std::vector<BlockCopy> copied_;  // of this step; the sources are held until it ends
  std::int64_t step_ = 0;
  std::int64_t copied_states_ = 0;
  std::int64_t copied_attention_ = 0;
};

}  // namespace hybridkv
