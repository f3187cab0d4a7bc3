#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <unordered_map>
#include <vector>

#include "simulator/cache_replica.h"
#include "simulator/fleet/heard_keys.h"
#include "simulator/fleet/router_settings.h"
#include "simulator/fleet/sent_prompts.h"
#include "simulator/fleet/session_names.h"

namespace hybridkv {

/// Whom a router gave a request, and why.
struct Routing {
  std::size_t replica = 0;
  std::int64_t believed_tokens = 0;  ///< of its prompt, that the router took to be found there
};

/// Chooses a replica for every request of a trace. Deterministic: of equals, the one that was given the fewest.
class Router {
 public:
  /// The replicas, all with such a cache, outlive it. Throws as check_router, SpecError "fleet.router" for a router
  /// that hears events of caches that have none.
  Router(const RouterSettings& settings, const AnyCache& cache, const std::vector<CacheReplica*>& replicas);

  /// The replica of a request that comes now, in seconds.
  Routing choose(const TraceRequest& request, std::span<const TokenRun> prompt, double now);
  /// A replica fails, or is back. Pre: another one is up.
  void set_up(std::size_t place, bool is_up) { up_[place] = is_up; }
  /// Another one takes its place, of which nothing is known.
  void replace(std::size_t place, CacheReplica& replica);
  /// Tokens of the blocks in which it counts; 0 where it does not.
  std::int64_t block_tokens() const { return block_; }
  /// Does it drop all events, for blocks of another size than it assumes?
  bool drops_events() const { return drops_events_; }

 private:
  template <class Number>
  std::size_t least(Number&& number) const;
  std::int64_t in_flight(std::size_t place) const;
  std::size_t least_busy() const;
  std::size_t busiest() const;
  bool is_busy(std::size_t replica) const;
  // The one of that hash, or the next that is up.
  std::size_t by_hash(std::uint64_t hash) const;
  std::size_t sticky(std::uint64_t session);
  // Tokens of the prompt that each replica is believed to find.
  void match(const TraceRequest& request, std::span<const TokenRun> prompt, double now);
  // Notes what lies before each block of the prompt at hand.
  void learn();
  std::size_t by_scores(std::int64_t prompt_tokens) const;
  std::size_t by_gateway(std::int64_t prompt_tokens) const;
  std::size_t pick(const TraceRequest& request, std::span<const TokenRun> prompt);

  RouterSettings settings_;
  std::vector<CacheReplica*> replicas_;
  std::int64_t block_ = 0;
  std::size_t event_block_ = 1;  // units of a block that events are of
  std::int64_t lookahead_ = 0;
  bool drops_events_ = false;
  std::mt19937_64 random_;
  SessionNames sessions_;
  std::vector<bool> up_;               // (replica)
  std::vector<std::int64_t> given_;    // (replica) requests
  std::vector<std::int64_t> matched_;  // (replica) tokens, of the request at hand
  std::vector<PrefixKey> keys_;        // of the request at hand
  std::vector<SentPrompts> sent_;      // (replica) of routers with an account of their own
  BlocksBefore before_;                // of one that reads every event as a prefix; grows with the distinct prompts
  std::vector<std::unique_ptr<HeardKeys>> heard_;  // (replica) of those that hear events
  std::unordered_map<std::uint64_t, std::size_t> homes_;  // of sessions
};

}  // namespace hybridkv
