#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/blocks/attention_manager.h"
#include "simulator/blocks/cache_geometry.h"
#include "simulator/blocks/prefix_hit.h"
#include "simulator/blocks/prefix_positions.h"
#include "simulator/blocks/request_blocks.h"
#include "simulator/blocks/state_manager.h"

namespace hybridkv {

/// The joint look-up of vLLM 0.33 (KVCacheCoordinator): every kind of group shortens the hit until all agree.
///
/// Full attention: the leftmost run of full blocks, where hits are fine then the longest tail that ends inside the next
/// block. Windows: the rightmost multiple of S before which v = ceil((w-1)/B) blocks are found, or all from the start.
/// States: the rightmost one. A drafter's group looks one unit further and drops one unit. A block or state counts only
/// if all groups of its kind hold it.
class PrefixLookup {
 public:
  /// All outlive the look-up.
  PrefixLookup(const CacheGeometry& geometry, const PrefixPositions& positions, const AttentionManager& attention,
               const StateManager& states);

  /// Longest hit of at most `limit` tokens. Writes the found blocks into `request` without holding them.
  PrefixHit look_up(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t limit) const;

 private:
  // Attention groups that are found together: they have the same block, mask and drafter.
  struct Kind {
    std::vector<std::size_t> groups;
    std::int64_t block = 0;
    std::int64_t units = 0;   // match units of a block
    std::int64_t window = 0;  // v, blocks before a hit; 0 = sees everything
    bool windowed = false;
    bool drops = false;
  };

  bool append(const Kind& kind, PrefixKey key, bool tail, RequestBlocks& request) const;
  std::int64_t match_full(const Kind& kind, std::span<const PrefixKey> keys, std::int64_t limit,
                          RequestBlocks& request) const;
  std::int64_t match_window(const Kind& kind, std::span<const PrefixKey> keys, std::int64_t limit,
                            RequestBlocks& request) const;
  std::int64_t match_states(std::span<const PrefixKey> keys, std::int64_t limit, RequestBlocks& request) const;
  // Tokens that a drafter's group looks further than the limit.
  std::int64_t margin(const Kind& kind) const;

  const PrefixPositions& positions_;
  const AttentionManager& attention_;
  const StateManager& states_;
  std::vector<Kind> kinds_;  // full attention first
  bool has_one_group_;
};

}  // namespace hybridkv
