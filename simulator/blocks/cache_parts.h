#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "simulator/blocks/attention_manager.h"
#include "simulator/blocks/cache_geometry.h"
#include "simulator/blocks/request_blocks.h"
#include "simulator/blocks/state_manager.h"
#include "simulator/pool/block_arena.h"
#include "simulator/pool/held_blocks.h"
#include "simulator/pool/kept_prefixes.h"

namespace hybridkv {

/// What a cache is made of, whatever its rules: the pools, the tables of every kind of group, and what the step under
/// way wants and copies.
struct CacheParts {
  /// Throws SpecError for an unusable geometry, ResourceError where the pools do not fit memory.
  explicit CacheParts(const CacheGeometry& geometry);
  CacheParts(const CacheParts&) = delete;
  CacheParts& operator=(const CacheParts&) = delete;

  /// What a request has of the blocks in its tables.
  enum class Tables {
    held,   ///< it holds them
    found,  ///< it found them, and nobody holds them yet
  };
  /// Has every arena room for what `demand` says of the request? Leaves it at 0.
  bool fits(const RequestBlocks& request, Tables tables, bool keep_watermark = false);
  /// With large pages: sees to it that the pools have what `demand` says, and leaves it at 0.
  void provide(RequestBlocks& request);

  const CacheGeometry geometry;
  std::unique_ptr<PageLedger> ledger;   ///< where arenas share large pages
  std::vector<BlockArena> pools;        ///< (arena)
  AttentionManager attention;
  StateManager states;
  HeldBlocks held;
  std::unique_ptr<KeptPrefixes> kept;   ///< where a policy other than lru may evict
  std::unique_ptr<VictimChooser> victims;  ///< of an engine that has an order of its own, else null
  std::vector<BlockCopy> copied;        ///< of this step; the sources are held until it ends
  std::vector<std::int64_t> demand;     ///< (arena) blocks wanted by the request under way, else 0
  std::int64_t step = 0;
  std::int64_t copied_states = 0;       ///< so far, counted per group
  std::int64_t copied_attention = 0;    ///< blocks, so far, counted per group

 private:
  // Found blocks that nobody holds, each with its arena.
  std::vector<std::pair<std::int64_t, BlockId>> found_free(const RequestBlocks& request) const;
  // Room was last found only with large pages that are neither empty nor evictable, for a request that is alone.
  bool takes_mixed_ = false;
};

}  // namespace hybridkv
