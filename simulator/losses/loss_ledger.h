#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "simulator/losses/reuse_loss.h"
#include "simulator/losses/seen_prefixes.h"
#include "simulator/schedule/simulation.h"

namespace hybridkv {

/// Books what the requests of one simulation compute again although an earlier prompt began with it.
///
/// Looks on and changes nothing: at the look-up that a request is admitted with it asks the pools which blocks and
/// states are there; what was ever computed, made and kept it remembers itself. "Earlier" is the order in which
/// requests reach the engine. What an earlier one leaves while a later one is under way counts until that one ends.
/// Prompts alone are known, as for TokenExactBound. Memory grows with the distinct content of the trace.
class LossLedger {
 public:
  /// `on_loss`, where set, gets every request as it ends, also those that are refused as too long, which lose nothing.
  explicit LossLedger(const CacheGeometry& geometry,
                      std::function<void(const RequestRecord&, const ReuseLoss&)> on_loss = {});
  LossLedger(const LossLedger&) = delete;
  LossLedger& operator=(const LossLedger&) = delete;

  /// Sets the hooks of a simulation of that geometry, which gives each record to `end`. Both live equally long.
  void watch(Simulation& simulation);
  void end(const RequestRecord& record);

  const LossStats& stats() const { return stats_; }

 private:
  static constexpr std::int64_t nobody = std::numeric_limits<std::int64_t>::max();

  /// The states of one prefix.
  struct StateHistory {
    std::int64_t made_by = nobody;  // number of the first request that had a state there
    std::int64_t kept_by = nobody;  // and of the first that left one to be found
  };
  enum class StateSeen { none, made, kept, held };
  /// A length behind the hit, as the look-up met it.
  struct Position {
    std::int64_t tokens = 0;
    PrefixKey key = 0;
    StateSeen state = StateSeen::none;
    bool computed = false;     // by an earlier request
    bool in_flight = false;    // else: an earlier request that is not done will compute it
    bool kv_held = false;      // by one attention group at least
    bool window_kept = true;   // no window lacks a block there that it never kept
  };
  /// A request from its submission to its end.
  struct Expected {
    std::int64_t number = 0;         // in the order of submission
    std::vector<TokenRun> prompt;
    std::int64_t shared_tokens = 0;  // with earlier prompts, its last token included
    ReuseTrail trail;
    std::vector<Position> positions;
  };

  void submitted(const TraceRequest& request, std::span<const TokenRun> prompt);
  void look_up(const CacheManager& cache, const ActiveRequest& request, const PrefixHit& hit);
  void observe(const CacheManager& cache, const ActiveRequest& request);
  void observe_tail(const CacheManager& cache, const ActiveRequest& request);
  void observe_states(const CacheManager& cache, const ActiveRequest& request, std::int64_t end);
  void observe_windows(const CacheManager& cache, const ActiveRequest& request, std::int64_t end);
  void made(const CacheManager& cache, const ActiveRequest& request, std::int64_t tokens);

  // Of so many tokens, those up to where an attention group may be found.
  std::int64_t attention_end(std::span<const PrefixKey> keys, std::size_t group, std::int64_t tokens) const;
  std::int64_t whole_tokens(std::span<const PrefixKey> keys, std::int64_t shared) const;
  std::int64_t allowed_tokens(std::span<const PrefixKey> keys, std::int64_t prompt, std::int64_t shared) const;
  // Does any recurrent group hold that state?
  bool holds_state(const CacheManager& cache, PrefixKey key) const;
  // Up to where one full attention group at least holds everything.
  std::int64_t held_attention(const CacheManager& cache, std::span<const PrefixKey> keys, std::int64_t from,
                              std::int64_t to) const;
  // (position) Does any window hold the last block before it? For caches without full attention.
  void find_windows(const CacheManager& cache, std::span<const PrefixKey> keys, std::vector<Position>& positions) const;
  LossCause cause_of(const Position& position, std::int64_t number) const;

  CacheGeometry geometry_;
  std::function<void(const RequestRecord&, const ReuseLoss&)> on_loss_;
  std::int64_t unit_;   // tokens of a match unit
  std::int64_t step_;   // tokens between two lengths to resume from
  std::int64_t ahead_;  // tokens that keys look ahead
  bool beyond_limit_;   // does a look-up go further than its limit by what it drops?
  std::vector<std::int64_t> drops_;  // (attention group) tokens that a look-up drops for a drafter
  std::vector<std::int64_t> rows_;   // (attention group) tokens from one whole block that is found to the next
  std::vector<bool> is_full_;        // (attention group) is it no window that is kept apart?
  const Scheduler* scheduler_ = nullptr;
  std::int64_t submitted_ = 0;
  SeenPrefixes announced_;  // all prompts so far
  SeenPrefixes computed_;
  std::unordered_map<PrefixKey, StateHistory> states_;
  std::unordered_set<PrefixKey> tails_;    // at which attention inside a block was entered
  std::unordered_set<PrefixKey> windows_;  // keys with their group of blocks that windows kept
  std::unordered_map<std::int64_t, Expected> expected_;  // by index
  LossStats stats_;
};

}  // namespace hybridkv
