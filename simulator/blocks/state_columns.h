#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/blocks/cache_geometry.h"
#include "simulator/blocks/prefix_positions.h"
#include "simulator/blocks/request_blocks.h"
#include "simulator/blocks/state_manager.h"

namespace hybridkv {

/// The recurrent groups of vLLM 0.33 in mode align (MambaManager): which blocks a chunk takes and which states of it
/// are found again.
///
/// The table ends with the running column and s speculative ones. A chunk that spans two new columns may export the
/// state of an earlier token into the column before the running one, whose block then is found by that state alone. A
/// request that goes on behind a state inside a block that it published itself keeps the block; a fresh one takes over
/// the key and is let go with the step.
class StateColumns {
 public:
  /// All outlive the columns.
  StateColumns(const CacheGeometry& geometry, const PrefixPositions& positions, StateManager& states);

  void begin_step() { made_.clear(); }

  /// Was a state with the key of the matched one published in this very step? Then none with it can be used yet.
  bool made_in_step(const RequestBlocks& request) const;

  /// Adds to `demand` (by arena) the found states that nobody holds and the blocks to take for that chunk; `first`: the
  /// request has none yet but the found ones. Any?
  bool add_demand(const RequestBlocks& request, const ComputedChunk& chunk, bool first,
                  std::span<std::int64_t> demand) const;

  /// Takes the blocks of that chunk. Returns how many states the engine copies.
  std::int64_t grow(RequestBlocks& request, const ComputedChunk& chunk, bool first, std::int64_t step,
                    std::vector<BlockCopy>& copied);

  /// Publishes what the chunk leaves behind, as far as keys are known.
  void publish(RequestBlocks& request, std::span<const PrefixKey> keys, const ComputedChunk& chunk, std::int64_t step);

  /// The part of it at multiples of B; again once the token behind `chunk.end` is known, for keys that look ahead.
  /// As in the engine every column with a block counts: so the one in which a chunk with an exported state starts
  /// inside a block is entered under its boundary, though what it holds is the state of that start.
  void publish_boundaries(RequestBlocks& request, std::span<const PrefixKey> keys, const ComputedChunk& chunk,
                          std::int64_t step);

 private:
  std::int64_t exported_at(const RequestBlocks& request, const ComputedChunk& chunk) const;
  // Gives the state at `tokens` tokens, which stands in that column, its key. Has it none yet?
  bool publish_at(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t tokens, std::int64_t column,
                  std::int64_t step);

  const PrefixPositions& positions_;
  StateManager& states_;
  std::int64_t speculative_;
  std::vector<PrefixKey> made_;  // keys, with their group, of the states published or moved in this step
};

}  // namespace hybridkv
