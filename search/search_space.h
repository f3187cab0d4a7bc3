#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engines/search_axes.h"
#include "planner/engine_spec.h"
#include "planner/snapshot_places.h"
#include "planner/token_state_split.h"

namespace hybridkv {

/// What `recommend` may choose from, whatever the engine: a list an axis; those of axes that an engine has not stay
/// empty. A list that is left empty stands for what the engine tries of it.
struct SearchSpace {
  std::vector<std::int64_t> packs;                         ///< N, each >= 1; of engines with blocks
  std::vector<std::optional<std::int64_t>> block_floors;   ///< user block sizes, unset = none; of engines with blocks
  std::vector<CacheMode> modes;
  // Of engines with blocks.
  std::vector<std::optional<std::int64_t>> retentions;     ///< tokens, unset = keep every checkpoint, 0 = only the last
  std::vector<std::int64_t> retention_blocks;              ///< further retention intervals, in blocks of the layout
  std::optional<std::vector<std::int64_t>> match_units;    ///< tokens, 0 = the block; those that do not divide a block
                                                           ///< are left out there; unset: every multiple of the
                                                           ///< smallest kernel block that divides the block
  // Of engines with a radix tree.
  std::vector<TreeStrategy> strategies;                    ///< none automatic
  std::vector<double> ratios;                              ///< R, memory of states over that of tokens, each > 0; empty
                                                           ///< where they differ from strategy to strategy; also of
                                                           ///< engines with snapshots
  std::vector<std::int64_t> page_sizes;                    ///< tokens
  std::vector<std::int64_t> track_intervals;               ///< tokens
  std::vector<SnapshotPlaces> snapshots;                   ///< of prompts, of engines with snapshots
  std::vector<std::int64_t> snapshot_intervals;            ///< tokens between further ones, 0: none
  // Of servers with slots.
  std::vector<std::int64_t> slots;
  std::vector<std::int64_t> slot_checkpoints;               ///< of a slot, on the host
  std::vector<std::int64_t> checkpoint_steps;              ///< tokens that older ones lie apart
  std::vector<std::int64_t> cache_rams;                    ///< MiB of the host for saved prompts, 0 = none
  bool operator==(const SearchSpace&) const = default;
};

/// The axes of which values are asked for.
std::vector<const SearchAxis*> asked_axes(const SearchSpace& space);

}  // namespace hybridkv
