#pragma once

#include <cstdint>

#include "simulator/blocks/cache_geometry.h"

namespace hybridkv {

/// Where the prefill of one request stands.
struct PrefillPosition {
  std::int64_t start = 0;            ///< tokens computed or found so far
  std::int64_t prompt = 0;           ///< n: tokens to prefill altogether
  std::int64_t uncached_common = 0;  ///< u: tokens that attention alone matched behind the hit; 0 after the first chunk
};

/// Tokens of the next prefill chunk, 0 = wait for a larger budget (vLLM Scheduler, align mode).
///
/// At most the budget and the long-prefill threshold. In mode align a chunk that would end before the last boundary
/// of the prompt is cut to end on a multiple of C (CacheGeometry::checkpoint_step; B where all blocks are equal), one
/// that would cross it is cut to end there; where prefixes end within a block chunks also end at the partial
/// checkpoint; the first chunk ends at the branch point if that is at least C away.
/// Example: B 528, budget 2048, n 2200 -> 1584, then 528, then 88.
std::int64_t next_prefill_chunk(const CacheGeometry& geometry, const PrefillPosition& at, std::int64_t budget);

/// Last boundary at which mode align makes a checkpoint of a prompt: floor(n/C)*C, C less with a drafter that drops a
/// block and for each checkpoint that it is moved back; 0 = none.
std::int64_t last_boundary(const CacheGeometry& geometry, std::int64_t prompt);

/// Where the partial attention tail of a prompt ends: floor(n/h)*h.
std::int64_t partial_tail_end(const CacheGeometry& geometry, std::int64_t prompt);

/// Where the one partial checkpoint of a prompt lies: floor(n/h)*h, one unit less with a drafter; 0 = none, also
/// where no prefix ends within a block.
std::int64_t partial_checkpoint(const CacheGeometry& geometry, std::int64_t prompt);

/// The branch point as a checkpoint position: the last multiple of C that attention alone matched; 0 = none.
std::int64_t branch_checkpoint(const CacheGeometry& geometry, std::int64_t hit, std::int64_t uncached_common);

}  // namespace hybridkv
