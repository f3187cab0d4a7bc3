#pragma once

#include "simulator/blocks/attention_publisher.h"
#include "simulator/blocks/block_steps.h"
#include "simulator/blocks/prefix_lookup.h"
#include "simulator/blocks/state_columns.h"

namespace hybridkv {

/// The operations of a cache with MatchUnitRules: vLLM 0.33 KVCacheManager.allocate_slots and around it, and how much
/// of a request a step computes (Scheduler.schedule).
class MatchUnitSteps : public BlockSteps {
 public:
  explicit MatchUnitSteps(CacheParts& cache)
      : BlockSteps(cache),
        positions_(cache.geometry),
        lookup_(cache.geometry, positions_, cache.attention, cache.states),
        publisher_(cache.geometry, positions_, cache.attention),
        columns_(cache.geometry, positions_, cache.states),
        quiet_unit_(looks_at_tokens(cache.geometry) ? 0 : positions_.unit()) {}

  void begin_step() override { columns_.begin_step(); }
  void order(std::vector<BlockCopy>& copied) const override;
  PrefixHit look_up(RequestBlocks& request, const CachedPrompt& prompt) override;
  bool admit(RequestBlocks& request, const CachedPrompt& prompt, const PrefixHit& hit, std::int64_t chunk,
             bool keep_watermark) override;
  bool advance(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t computed, std::int64_t chunk,
               std::int64_t branch) override;
  void publish_sampled(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t computed,
                       std::int64_t branch) override;
  bool follows_known() const override { return true; }
  std::int64_t branch(const PrefixHit& hit) const override { return junction(cache_.geometry, hit); }
  std::int64_t first_chunk(const ChunkQuestion& asked, const PrefixHit& hit, std::int64_t budget) const override;
  std::int64_t next_chunk(const ChunkQuestion& asked, std::int64_t budget) const override;
  bool gives_way_to_itself() const override { return true; }
  const PrefixPositions* positions() const override { return &positions_; }

 protected:
  std::int64_t most_window_blocks(std::int64_t group, std::int64_t found, std::int64_t end) const override;

 private:
  void add_first(const RequestBlocks& request, const ComputedChunk& chunk, std::int64_t room, bool keep_watermark);
  void grow(RequestBlocks& request, const ComputedChunk& chunk, bool first);
  void publish(RequestBlocks& request, const CachedPrompt& prompt, ComputedChunk chunk);
  // Tokens that attention has room for behind a chunk: those of a drafter too.
  std::int64_t room(std::int64_t end) const;
  // May a request take or give back something at any token, as windows and drafters do?
  static bool looks_at_tokens(const CacheGeometry& geometry) {
    return geometry.speculative_tokens > 0 || !geometry.attention_masks.empty();
  }

  PrefixPositions positions_;
  PrefixLookup lookup_;
  AttentionPublisher publisher_;
  StateColumns columns_;
  // Tokens of a match unit, which divides every block: the places at which a request that generates takes, publishes or
  // gives back something; 0 where it may do so at any.
  std::int64_t quiet_unit_;
};

}  // namespace hybridkv
