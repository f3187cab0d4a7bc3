#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/blocks/cache_geometry.h"
#include "simulator/blocks/request_blocks.h"
#include "simulator/pool/block_arena.h"
#include "simulator/pool/group_keys.h"
#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// The recurrent groups of a cache, in modes none, align and all (vLLM KVCacheManager and Scheduler).
///
/// A state at t tokens stands at table position ceil(t / S) - 1. Mode none keeps one running state and publishes
/// nothing. Mode align copies the running state into a new block at each crossing of S, and frees the one two
/// crossings back; a state is published where a chunk ended on a multiple of S. Mode all writes and publishes the
/// state at every multiple of S. A state counts as found only if every group still holds it.
class StateManager {
 public:
  /// Both outlive the manager. `pools`: by arena.
  StateManager(const CacheGeometry& geometry, std::span<BlockArena> pools);

  /// Longest prefix of at most `limit` tokens whose state every group still holds, and behind which attention can be
  /// resumed. Writes the states into `request.states` without holding them; returns the tokens, 0 without recurrent
  /// groups. Pre: not mode none.
  std::int64_t match(std::span<const PrefixKey> keys, std::int64_t limit, RequestBlocks& request);

  /// Was the matched state published in this very step? Then it cannot be used before the next one.
  bool made_in_step(const RequestBlocks& request, std::int64_t step) const;

  /// Adds to `demand` (by arena) the found states that nobody holds and the blocks to take for a first chunk that ends
  /// at `tokens` tokens behind a hit of `hit` tokens.
  void add_first(const RequestBlocks& request, std::int64_t hit, std::int64_t tokens,
                 std::span<std::int64_t> demand) const;
  /// Adds to `demand` (by arena) the blocks to take for a later chunk that ends at `tokens` tokens. Any?
  bool add_next(const RequestBlocks& request, std::int64_t tokens, std::span<std::int64_t> demand) const;

  /// Holds the states that were found, and marks them as used.
  void hold(const RequestBlocks& request);

  /// Gives back the states that `computed` tokens have passed.
  void drop_passed(RequestBlocks& request, std::int64_t computed);

  /// Takes the blocks for a chunk that ends at `tokens` tokens. A shared running state is replaced by a copy first,
  /// and added to `copied`. Returns how many states the engine copies.
  std::int64_t grow(RequestBlocks& request, std::int64_t tokens, bool first_chunk, std::vector<BlockCopy>& copied);

  /// What a published state may be kept for.
  struct Retention {
    std::int64_t prompt_tokens = 0;  ///< n: the last boundary below it is always kept
    std::int64_t branch_point = 0;   ///< tokens, 0 = none: always kept
    std::int64_t partial_end = 0;    ///< tokens of the one partial checkpoint, 0 = none
  };
  /// Publishes what a chunk that ended at `tokens` tokens leaves behind. Pre: not mode none, keys reach that far.
  void publish(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t tokens,
               const Retention& retention, std::int64_t step);

  /// Gives back all blocks: groups in order, each with its last block first.
  void release(const RequestBlocks& request);

  /// Keys of the recurrent groups.
  const GroupKeys& group_keys() const { return group_keys_; }
  std::size_t num_groups() const { return arenas_.size(); }
  std::size_t arena(std::size_t group) const { return arenas_[group]; }
  BlockArena& pool(std::size_t group) const { return pools_[arenas_[group]]; }

 private:
  bool retained(std::int64_t tokens, const Retention& retention) const;
  void publish_at(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t tokens, std::int64_t step);

  // Of every group, for chunks as above.
  std::int64_t needed_first(std::int64_t hit, std::int64_t tokens) const;
  std::int64_t needed_next(const RequestBlocks& request, std::int64_t tokens) const;

  const CacheGeometry& geometry_;
  std::span<BlockArena> pools_;            // (arena)
  GroupKeys group_keys_;
  std::vector<std::size_t> arenas_;        // (state group)
  std::vector<std::int64_t> groups_in_;    // (arena)
  std::int64_t block_;                     // S
  std::int64_t unit_;                      // tokens of a match unit
  std::int64_t resume_units_;              // match units between two lengths from which a request may resume
  std::int64_t checkpoint_step_;           // tokens
};

}  // namespace hybridkv
