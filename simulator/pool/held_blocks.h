#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/blocks/cache_geometry.h"
#include "simulator/blocks/request_blocks.h"
#include "simulator/pool/block_arena.h"

namespace hybridkv {

/// What running requests hold and nobody finds again: the extras of a request, rings, windows that the engine's prefix
/// cache leaves out. A request takes them as it comes in, those of its whole prompt, and more where it generates more
/// than that; all go back with it.
class HeldBlocks {
 public:
  /// `pools`, by arena, outlive it.
  HeldBlocks(const CacheGeometry& geometry, std::span<BlockArena> pools);

  /// Adds to `demand` (by arena) the blocks that a request takes so that it has those of `tokens` tokens. Any?
  bool add_demand(const RequestBlocks& request, std::int64_t tokens, std::span<std::int64_t> demand) const;
  /// Takes them. Pre: the pools have room.
  void grow(RequestBlocks& request, std::int64_t tokens);
  /// Gives all back, those of each group the last one first.
  void release(const RequestBlocks& request);

  /// The extras of a request first, where there are any.
  std::span<const HeldGroup> groups() const { return groups_; }

 private:
  std::int64_t lacking(const RequestBlocks& request, std::size_t group, std::int64_t tokens) const;
  BlockArena& pool(std::size_t group) { return pools_[static_cast<std::size_t>(groups_[group].arena)]; }

  std::span<BlockArena> pools_;
  std::vector<HeldGroup> groups_;
};

}  // namespace hybridkv
