#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "simulator/blocks/attention_manager.h"
#include "simulator/blocks/cache_geometry.h"
#include "simulator/blocks/state_manager.h"
#include "simulator/pool/block_arena.h"
#include "simulator/pool/host_tier.h"

namespace hybridkv {

/// Brings back from the host what a prompt begins with, before the cache looks it up: the longest prefix of which pools
/// and host together have K and V of every group and a state of every group behind it. What the pools have of it is
/// held, blocks are taken for the rest and made findable as they were, and all of them are let go in the usual order,
/// so that the ordinary look-up finds them. Where the pools have no room for all of it nothing is loaded.
///
/// Modelled: no engine's run covers it. Not for windows, prefixes that end within a block, or large pages.
class HostLoader {
 public:
  /// All outlive the loader. `pools`: by arena.
  HostLoader(const CacheGeometry& geometry, std::span<BlockArena> pools, const AttentionManager& attention,
             const StateManager& states);

  /// `limit`: most tokens that may be found; `step`: the one under way.
  void load(std::span<const PrefixKey> keys, std::int64_t limit, std::int64_t step);
  /// With what is dead counted: K and V behind which no state is left in pools or host.
  HostStats final_stats();

  HostTier& tier() { return tier_; }

 private:
  struct Place {
    std::size_t arena;
    PrefixKey key;
    bool is_state;
  };

  PrefixKey attention_key(std::span<const PrefixKey> keys, std::size_t group, std::int64_t block) const;
  // Tokens of the longest joint prefix of the pools, with the host or without.
  std::int64_t joint(std::span<const PrefixKey> keys, std::int64_t limit, bool with_host) const;
  bool is_there(std::size_t arena, PrefixKey key, bool with_host) const;
  // Everything that a prefix of so many tokens is made of, in the order in which requests give it back.
  std::vector<Place> parts_of(std::span<const PrefixKey> keys, std::int64_t tokens) const;
  void remember(std::span<const PrefixKey> keys);

  const CacheGeometry& geometry_;
  std::span<BlockArena> pools_;
  const AttentionManager& attention_;
  const StateManager& states_;
  HostTier tier_;
  std::unordered_map<PrefixKey, PrefixKey> before_;  // key of a prefix to that of one unit less, 0 at the first
};

}  // namespace hybridkv
