#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "simulator/attention_manager.h"
#include "simulator/attention_publisher.h"
#include "simulator/block_pool.h"
#include "simulator/cache_geometry.h"
#include "simulator/chain_hash.h"
#include "simulator/held_blocks.h"
#include "simulator/host_loader.h"
#include "simulator/kept_prefixes.h"
#include "simulator/prefix_lookup.h"
#include "simulator/prefix_positions.h"
#include "simulator/request_blocks.h"
#include "simulator/state_columns.h"
#include "simulator/state_manager.h"

namespace hybridkv {

/// One prompt as the cache sees it.
struct CachedPrompt {
  std::span<const PrefixKey> keys;  ///< chain hash at every match unit, as far as content is known; nothing behind
                                    ///< that is published
  std::int64_t tokens = 0;          ///< what is to be prefilled: the prompt, after a preemption with what it generated
  std::int64_t prompt = 0;          ///< n: tokens of the prompt itself; read by the rules of vLLM 0.33
};

/// All groups of one cache over the pools of its arenas: joint look-up, admission, growth, publication and release. A
/// request goes on only where every arena has room for what its groups take from it.
///
/// The life of a request: `look_up`, `admit` with its first chunk, `advance` with every later chunk or decoded
/// token, `release`. Steps are the engine's: `begin_step` before, `end_step` after the requests of one step.
class CacheManager {
 public:
  /// Throws SpecError for an unusable geometry, ResourceError where the pools do not fit memory.
  explicit CacheManager(const CacheGeometry& geometry);
  CacheManager(const CacheManager&) = delete;
  CacheManager& operator=(const CacheManager&) = delete;

  const CacheGeometry& geometry() const { return geometry_; }
  /// (arena) Block ids mean something only inside their arena.
  std::span<const BlockPool> pools() const { return pools_; }
  const BlockPool& pool(std::int64_t arena = 0) const { return pools_[static_cast<std::size_t>(arena)]; }
  /// Who has which large page; nullptr where every arena has memory of its own.
  const PageLedger* ledger() const { return ledger_.get(); }
  /// What the host was good for; nothing without one.
  std::optional<HostStats> host_stats() const {
    return host_ ? std::optional(host_->final_stats()) : std::nullopt;
  }
  const AttentionManager& attention() const { return attention_; }
  const StateManager& states() const { return states_; }
  const HeldBlocks& held() const { return held_; }
  /// So far, over all arenas.
  std::int64_t evictions() const {
    std::int64_t evictions = pools_.front().stats().evictions;
    for (std::size_t arena = 1; arena < pools_.size(); ++arena) evictions += pools_[arena].stats().evictions;
    return evictions;
  }

  void begin_step() {
    ++step_;
    if (rules_033_) rules_033_->columns.begin_step();
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
             bool keep_watermark);

  /// Drops passed states, gives back blocks behind windows and takes the blocks of the next `chunk` tokens. False where
  /// a pool has too few.
  /// `branch`: tokens of the request's branch point, in vLLM 0.33 of its junction, 0 = none.
  bool advance(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t computed, std::int64_t chunk,
               std::int64_t branch);

  /// vLLM 0.33, once the token behind `computed` tokens was sampled: publishes what only now has a key.
  void publish_sampled(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t computed, std::int64_t branch);

  /// The prefixes that are kept by a policy that ranks them; nullptr with the engines' own.
  const KeptPrefixes* kept() const { return kept_.get(); }

  /// Where vLLM 0.33 keeps prefixes; nullptr with the rules of June 2026.
  const PrefixPositions* positions() const { return rules_033_ ? &rules_033_->positions : nullptr; }

  /// Gives back the attention blocks that no token from `computed` on sees; `advance` begins with it.
  void give_back_passed(RequestBlocks& request, std::int64_t computed) {
    attention_.give_back_passed(request, computed);
  }

  /// Gives back everything: groups in order, each with its last block first.
  void release(RequestBlocks& request);

  /// Copies of shared blocks that this step orders, in order: what a tensor engine does before it computes.
  std::span<const BlockCopy> copies() const { return copied_; }
  std::int64_t copied_states() const { return copied_states_; }      ///< so far, counted per group
  std::int64_t copied_attention() const { return copied_attention_; }///< blocks, so far, counted per group

 private:
  friend struct CachePeek;

  // The rules of vLLM 0.33, beside what both releases share.
  struct Rules033 {
    Rules033(const CacheGeometry& geometry, const AttentionManager& attention, StateManager& states)
        : positions(geometry),
          lookup(geometry, positions, attention, states),
          publisher(geometry, positions, attention),
          columns(geometry, positions, states) {}
    PrefixPositions positions;
    PrefixLookup lookup;
    AttentionPublisher publisher;
    StateColumns columns;
  };

  // The same operations in vLLM 0.33.
  PrefixHit look_up_033(RequestBlocks& request, const CachedPrompt& prompt);
  bool admit_033(RequestBlocks& request, const CachedPrompt& prompt, const ComputedChunk& chunk, bool keep_watermark);
  bool advance_033(RequestBlocks& request, const CachedPrompt& prompt, const ComputedChunk& chunk);
  void add_first_033(const RequestBlocks& request, const ComputedChunk& chunk, std::int64_t slots,
                     bool keep_watermark);
  void grow_033(RequestBlocks& request, const ComputedChunk& chunk, bool first);
  void publish_033(RequestBlocks& request, const CachedPrompt& prompt, ComputedChunk chunk);
  // Tokens that attention has room for behind a chunk: those of a drafter too, up to the longest sequence.
  std::int64_t slots(std::int64_t end) const;

  void grow(RequestBlocks& request, std::int64_t end, bool first_chunk);
  void publish(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t end, std::int64_t branch);

  // Less what windows never hold of the tokens [start, end), a whole sequence.
  void cap_windows(std::int64_t start, std::int64_t end);
  // Has every arena room for what demand_ says? Leaves it at 0. `found`: a request whose found blocks nobody holds yet.
  bool fits(const RequestBlocks* found = nullptr, bool keep_watermark = false);
  // Found blocks that nobody holds, each with its arena.
  std::vector<std::pair<std::int64_t, BlockId>> found_free(const RequestBlocks& request) const;
  // With large pages: sees to it that the pools have what demand_ says, and leaves it at 0.
  void provide(RequestBlocks& request);

  CacheGeometry geometry_;
  std::unique_ptr<PageLedger> ledger_;  // where arenas share large pages
  std::vector<BlockPool> pools_;  // (arena)
  AttentionManager attention_;
  StateManager states_;
  HeldBlocks held_;
  std::unique_ptr<HostLoader> host_;     // where the host has memory for blocks
  std::unique_ptr<Rules033> rules_033_;  // with the rules of vLLM 0.33
  std::unique_ptr<KeptPrefixes> kept_;  // where a policy other than lru may evict
  std::vector<BlockCopy> copied_;  // of this step; the sources are held until it ends
  std::vector<std::int64_t> demand_;  // (arena) blocks wanted by the request under way, else 0
  std::int64_t step_ = 0;
  std::int64_t copied_states_ = 0;
  std::int64_t copied_attention_ = 0;
};

}  // namespace hybridkv
