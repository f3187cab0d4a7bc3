#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "simulator/blocks/block_steps.h"
#include "simulator/blocks/cache_parts.h"
#include "simulator/pool/host_loader.h"

namespace hybridkv {

/// All groups of one cache over the pools of its arenas: joint look-up, admission, growth, publication and release. A
/// request goes on only where every arena has room for what its groups take from it. How it is done is up to the rules
/// that the geometry names (BlockSteps).
///
/// The life of a request: `look_up`, `admit` with its first chunk, `advance` with every later chunk or decoded
/// token, `release`. Steps are the engine's: `begin_step` before, `end_step` after the requests of one step.
class CacheManager {
 public:
  /// Throws SpecError for an unusable geometry, ResourceError where the pools do not fit memory.
  explicit CacheManager(const CacheGeometry& geometry);

  const CacheGeometry& geometry() const { return parts_.geometry; }
  /// (arena) Block ids mean something only inside their arena.
  std::span<const BlockArena> pools() const { return parts_.pools; }
  const BlockArena& pool(std::int64_t arena = 0) const { return parts_.pools[static_cast<std::size_t>(arena)]; }
  /// Who has which large page; nullptr where every arena has memory of its own.
  const PageLedger* ledger() const { return parts_.ledger.get(); }
  /// What the host was good for; nothing without one.
  std::optional<HostStats> host_stats() const {
    return host_ ? std::optional(host_->final_stats()) : std::nullopt;
  }
  const AttentionManager& attention() const { return parts_.attention; }
  const StateManager& states() const { return parts_.states; }
  const HeldBlocks& held() const { return parts_.held; }
  /// From now on tells `listener`, which outlives this cache, what can be found in any arena.
  void tell(KeyListener& listener) {
    for (BlockArena& pool : parts_.pools) pool.tell(listener);
  }
  /// So far, over all arenas.
  std::int64_t evictions() const {
    std::int64_t evictions = 0;
    for (const BlockArena& pool : parts_.pools) evictions += pool.stats().evictions;
    return evictions;
  }

  void begin_step() {
    ++parts_.step;
    steps_->begin_step();
  }
  /// Lets go of the blocks that were copied in this step.
  void end_step();

  /// An empty set of blocks with a table for every group.
  RequestBlocks make_request() const;

  /// Longest prefix that all groups hold, never the last token. Writes the found blocks into `request`, not held.
  PrefixHit look_up(RequestBlocks& request, const CachedPrompt& prompt);

  /// Holds the found blocks and takes those of the first chunk. False, without any change to the pools, where one has
  /// no room for its part of the whole prompt, `keep_watermark` beside its watermark, or the state was published in
  /// this very step.
  bool admit(RequestBlocks& request, const CachedPrompt& prompt, const PrefixHit& hit, std::int64_t chunk,
             bool keep_watermark) {
    return steps_->admit(request, prompt, hit, chunk, keep_watermark);
  }

  /// Drops passed states, gives back blocks behind windows and takes the blocks of the next `chunk` tokens. False where
  /// a pool has too few.
  /// `branch`: tokens of the request's branch point (BlockSteps::branch), 0 = none.
  bool advance(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t computed, std::int64_t chunk,
               std::int64_t branch) {
    return steps_->advance(request, prompt, computed, chunk, branch);
  }

  /// Once the token behind `computed` tokens was sampled: publishes what only now has a key.
  void publish_sampled(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t computed,
                       std::int64_t branch) {
    steps_->publish_sampled(request, prompt, computed, branch);
  }

  /// What the scheduler asks before it admits and advances.
  const BlockSteps& steps() const { return *steps_; }

  /// The prefixes that are kept by a policy that ranks them; nullptr with the engines' own.
  const KeptPrefixes* kept() const { return parts_.kept.get(); }

  /// Gives back the attention blocks that no token from `computed` on sees; `advance` begins with it.
  void give_back_passed(RequestBlocks& request, std::int64_t computed) {
    parts_.attention.give_back_passed(request, computed);
  }

  /// Gives back everything: groups in order, each with its last block first.
  void release(RequestBlocks& request);

  /// Copies of shared blocks that this step orders, in order: what a tensor engine does before it computes.
  std::span<const BlockCopy> copies() const { return parts_.copied; }
  std::int64_t copied_states() const { return parts_.copied_states; }      ///< so far, counted per group
  std::int64_t copied_attention() const { return parts_.copied_attention; }///< blocks, so far, counted per group

 private:
  friend struct CachePeek;

  CacheParts parts_;
  std::unique_ptr<HostLoader> host_;     // where the host has memory for blocks
  std::unique_ptr<BlockSteps> steps_;    // by the rules of the geometry
};

}  // namespace hybridkv
