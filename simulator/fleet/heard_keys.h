#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "simulator/blocks/cache_manager.h"
#include "simulator/pool/key_listener.h"

namespace hybridkv {

/// How a router may read what it hears.
enum class EventReading {
  attention,  ///< blocks of groups that see every token; what it hears of other groups is left out
  sparse,     ///< every event as a stretch of the prefix, those of states and windows too
  states,     ///< attention, and within it the deepest place for which every other group has what a request needs
};

/// Tokens of the blocks that a cache's events are of: of its attention, of its states where it has none.
std::int64_t event_block(const CacheGeometry& geometry);

/// The block of a prompt before each, by key; 0 before the first.
using BlocksBefore = std::unordered_map<PrefixKey, PrefixKey>;

/// What a router has heard of one replica's cache of blocks: its events, each after a delay.
///
/// An event names the tokens computed since the one before and the hashes of the blocks that hold them. A group of
/// states has one hash for many blocks of tokens. A router that takes it for the whole stretch sees prefixes that are
/// not there, and loses those of attention when the state goes (llm-d-router issue 2362: 24.7 % of the prompts found
/// again). Memory grows with the pool.
class HeardKeys final : public KeyListener {
 public:
  /// `now`: the replica's time in seconds. `before`: of the prompts that were routed, for events read as prefixes.
  /// Both and the cache outlive it.
  HeardKeys(const CacheManager& cache, EventReading reading, double delay_seconds, std::function<double()> now,
            const BlocksBefore& before);

  void stored(PrefixKey key) override { events_.push_back({now_(), key, true}); }
  void removed(PrefixKey key) override { events_.push_back({now_(), key, false}); }

  /// Tokens of a prompt that a router at that time believes to be found; keys by match unit, never the last token.
  std::int64_t match(std::span<const PrefixKey> keys, std::int64_t prompt_tokens, double seconds);

 private:
  struct Event {
    double seconds = 0;
    PrefixKey key = 0;
    bool is_stored = false;
  };
  // Groups of attention that are found together.
  struct Attention {
    std::size_t group = 0;
    std::int64_t units = 0;   // match units of a block
    std::int64_t blocks = 0;  // before a place that its window needs; 0: it sees every token
  };

  void hear(double seconds);
  void apply(const Event& event);
  // The same of a router that reads all groups as prefixes.
  void apply_sparse(const Event& event);
  bool has(const Attention& attention, std::span<const PrefixKey> keys, std::int64_t unit) const;
  std::int64_t match_attention(std::span<const PrefixKey> keys, std::int64_t units) const;
  bool can_resume(std::span<const PrefixKey> keys, std::int64_t units) const;

  const CacheManager& cache_;
  EventReading reading_;
  double delay_;
  std::function<double()> now_;
  std::int64_t unit_;         // tokens
  std::int64_t step_;         // match units between places where a request may resume
  std::vector<Attention> full_, windows_;
  std::deque<Event> events_;  // not yet heard
  std::unordered_set<PrefixKey> keys_;  // heard, by group; as sparse: prefixes by block
  const BlocksBefore& before_;
  // As sparse only: the blocks for which a state stood.
  std::unordered_map<PrefixKey, std::vector<PrefixKey>> stretches_;
};

}  // namespace hybridkv
