#pragma once

#include <cstdint>
#include <span>

#include "simulator/blocks/attention_manager.h"
#include "simulator/blocks/cache_geometry.h"
#include "simulator/blocks/prefix_positions.h"
#include "simulator/blocks/request_blocks.h"

namespace hybridkv {

/// What attention groups leave behind to be found again in vLLM 0.33 (KVCacheCoordinator.cache_blocks).
///
/// Every full block; of a window those that a hit at a kept boundary needs; where hits are fine also the tail of the
/// prompt, whose block is not copied: it gets a second key when it is full. Where hits are not fine and groups differ,
/// nothing behind the last multiple of S, one block more for a drafter's group. Keys that look l > 1 tokens ahead are
/// those of a drafter of several modules, whose groups publish l - 1 tokens later.
class AttentionPublisher {
 public:
  /// All outlive the publisher.
  AttentionPublisher(const CacheGeometry& geometry, const PrefixPositions& positions,
                     const AttentionManager& attention);

  /// Publishes what the chunk leaves, as far as keys are known. Pre: the tables reach to its end.
  void publish(RequestBlocks& request, std::span<const PrefixKey> keys, const ComputedChunk& chunk,
               std::int64_t step) const;

 private:
  void publish_tail(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t tail,
                    std::int64_t step) const;

  const CacheGeometry& geometry_;
  const PrefixPositions& positions_;
  const AttentionManager& attention_;
};

}  // namespace hybridkv
