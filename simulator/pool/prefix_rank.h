#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "simulator/pool/eviction_policy.h"

namespace hybridkv {

/// What a policy may know of a prefix whose states are kept.
struct PrefixFacts {
  std::int64_t tokens = 0;        ///< it stands for, >= 1
  std::int64_t saved_tokens = 0;  ///< computed again where it is lost: those behind the next shorter prefix kept, >= 1
  double memory_tokens = 1;       ///< tokens whose K and V take the memory that goes with it; 0 where it is gone
  std::int64_t uses = 0;          ///< requests that went on from it, also while its states were gone
  std::int64_t turn = 1;          ///< prefixes known before on its path, and itself
  double since = 0;               ///< PrefixRank::start() of its last use; under a policy of one's own its last use
  std::int64_t id = 0;            ///< its own among all that are known; another one's once it is forgotten
  std::int64_t now = 0;           ///< requests that came so far
  std::int64_t made = 0;          ///< as many when its states were first made
  std::int64_t branches = 0;      ///< ways in which prompts went on behind it, >= 0
  std::int64_t longer = 0;        ///< of these, on which a longer prefix is kept
  std::int64_t prompt_tokens = 0; ///< of the request that made it
};

/// Orders prefixes by one policy: the lowest rank goes first. Time is counted in requests.
class PrefixRank {
 public:
  explicit PrefixRank(EvictionPolicy policy) : policy_(policy) {}

  /// One more request came.
  void tick() { ++now_; }
  std::int64_t now() const { return now_; }
  /// A prefix is new, or gone on from as often as it says: from now on it may come back.
  void waits(const PrefixFacts& prefix);
  /// A request went on from a prefix that had waited for it for that many requests.
  void returned(const PrefixFacts& prefix, std::int64_t age);
  /// The prefix of that rank went.
  void went(double rank);

  /// What PrefixFacts::since is set to at a use.
  double start() const;
  double rank(const PrefixFacts& prefix) const;

  /// Mean number of requests after which a prefix was first gone on from, of about the last 500 that were.
  double mean_return() const { return returns_ > 0 ? return_ages_ / returns_ : 100; }

 private:
  /// How often prefixes of one kind waited, and came back.
  struct Kind {
    double waited = 0, returns = 0;
  };
  using KindKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  static KindKey kind_of(const PrefixFacts& prefix);
  /// Share of its kind that came back so far.
  double chance(const PrefixFacts& prefix) const;

  EvictionPolicy policy_;
  std::int64_t now_ = 0;
  double clock_ = 0;  // rank of what went last: what is new starts there
  double returns_ = 0, return_ages_ = 0;
  Kind all_;
  std::map<KindKey, Kind> kinds_;
};

}  // namespace hybridkv
