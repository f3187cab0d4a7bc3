#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ask/clock/gpu_choice.h"

namespace hybridkv {

/// Does a hold where b does not, or more of its requests keep the limits, or their first token come sooner?
bool serves_better(const Deployment& a, const Deployment& b);

/// Replicas of one number of ranks, by the clock.
class DeploymentSearch {
 public:
  /// Borrows both. `at` is the position of the search among those of the answer.
  DeploymentSearch(const GpuChoiceQuestion& question, const RankSearch& search, std::size_t at);

  /// Of the settings of the front the ones that serve so many replicas best: those that hold before those that do not,
  /// the most requests within the limits, and the fastest first token; of those within 1 % of it the ones that change
  /// fewest settings. `rate` is of all replicas together.
  Deployment best(std::int64_t replicas, double rate) const;

  /// The fewest of these numbers of replicas that hold, and everything that was tried to find it. Pre: ascending, at
  /// least one.
  std::vector<Deployment> fewest(const std::vector<std::int64_t>& replicas) const;

  /// The highest rate at which so many replicas hold, with the settings that serve it best; where none was found, the
  /// best at the rate of the question.
  Deployment most_load(std::int64_t replicas) const;

  /// The highest rate at which this deployment holds. Pre: it holds at its own.
  double most_rate(const Deployment& deployment) const;

  /// The share within the limits if every time were longer by the clock's median error.
  double share_if_slower(const Deployment& deployment) const;

  /// By which clock it goes. Throws as set_clock.
  const TimedAnswer& timed() const { return timed_; }

 private:
  Deployment replayed(std::size_t candidate, std::int64_t replicas, double rate, const ServiceLimits& limits,
                      const std::vector<RouterKind>& routers) const;
  // Puts the times of all replicas behind the best of the routers in the place of those of one.
  void route(Deployment& deployment, const std::vector<AnyCache>& caches, const ServiceLimits& limits,
             const std::vector<RouterKind>& routers) const;

  const GpuChoiceQuestion& question_;
  const RankSearch& search_;
  std::size_t at_;
  std::vector<std::size_t> candidates_;  // that are replayed
  TimedAnswer timed_;
};

}  // namespace hybridkv
