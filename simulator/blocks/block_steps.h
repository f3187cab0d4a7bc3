#pragma once

#include <cstdint>
#include <span>

#include "simulator/blocks/cache_parts.h"
#include "simulator/blocks/prefix_hit.h"
#include "simulator/blocks/prefix_positions.h"
#include "simulator/trace/chain_hash.h"

namespace hybridkv {

/// One prompt as the cache sees it.
struct CachedPrompt {
  std::span<const PrefixKey> keys;  ///< chain hash at every match unit, as far as content is known; nothing behind
                                    ///< that is published
  std::int64_t tokens = 0;          ///< what is to be prefilled: the prompt, after a preemption with what it generated;
                                    ///< with rules that follow what is known, all of that
  std::int64_t prompt = 0;          ///< n: tokens of the prompt itself
};

/// How far a request is, for the number of tokens that the next step computes of it.
struct ChunkQuestion {
  std::int64_t start = 0;           ///< tokens computed or found
  std::int64_t tokens = 0;          ///< as CachedPrompt::tokens
  std::int64_t prompt = 0;          ///< n
  std::int64_t branch = 0;          ///< of BlockSteps::branch, 0 = none
  std::int64_t requests = 2;        ///< that run or wait, this one among them
  bool runs_beside = false;         ///< at admission: a running request has its part of the step
  bool prefills_beside = false;     ///< and one of those is inside its prompt
};

/// The operations of one cache, and what its scheduler asks before them, by the plain rules (BlockRules); other rules
/// derive from it.
class BlockSteps {
 public:
  /// The cache outlives its steps.
  explicit BlockSteps(CacheParts& cache) : cache_(cache) {}
  virtual ~BlockSteps() = default;
  BlockSteps(const BlockSteps&) = delete;
  BlockSteps& operator=(const BlockSteps&) = delete;

  virtual void begin_step() {}
  /// Puts the copies of a step in the order in which the engine lets go of their sources.
  virtual void order(std::vector<BlockCopy>&) const {}
  /// See CacheManager for these four.
  virtual PrefixHit look_up(RequestBlocks& request, const CachedPrompt& prompt);
  virtual bool admit(RequestBlocks& request, const CachedPrompt& prompt, const PrefixHit& hit, std::int64_t chunk,
                     bool keep_watermark);
  virtual bool advance(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t computed, std::int64_t chunk,
                       std::int64_t branch);
  virtual void publish_sampled(RequestBlocks&, const CachedPrompt&, std::int64_t, std::int64_t) {}

  /// Do these rules treat each token of a request as part of its prompt as soon as it is known, so that it is prefilled
  /// again after a preemption and can be found by others, even the token that was just sampled?
  virtual bool follows_known() const { return false; }
  /// Tokens where a prompt parts from those before it, at which its state is kept; 0 = nowhere.
  virtual std::int64_t branch(const PrefixHit& hit) const;
  /// Tokens to compute at admission and later; 0 = wait for a larger budget.
  virtual std::int64_t first_chunk(const ChunkQuestion& asked, const PrefixHit& hit, std::int64_t budget) const;
  virtual std::int64_t next_chunk(const ChunkQuestion& asked, std::int64_t budget) const;
  /// May a request that runs alone and lacks blocks preempt itself? In large pages it may lie in more of them than it
  /// fills, and then fills them when it comes back.
  virtual bool gives_way_to_itself() const { return cache_.ledger != nullptr; }
  /// The positions at which prefixes are kept; nullptr where that is every boundary of a block.
  virtual const PrefixPositions* positions() const { return nullptr; }

 protected:
  /// Blocks of a window that a sequence holds at most behind `found` found ones, up to `end` tokens.
  virtual std::int64_t most_window_blocks(std::int64_t group, std::int64_t found, std::int64_t end) const;
  // Lowers the demand of the step by the blocks that windows never hold of a whole sequence with the tokens [start,
  // end).
  void cap_windows(std::int64_t start, std::int64_t end);

  CacheParts& cache_;

 private:
  void grow(RequestBlocks& request, std::int64_t end, bool first_chunk);
  void publish(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t end, std::int64_t branch);
};

}  // namespace hybridkv
