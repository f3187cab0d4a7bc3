#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ask/clock/kept_limits.h"
#include "ask/clock/timed_replay.h"
#include "ask/recommend.h"
#include "scenarios/command_words.h"

namespace hybridkv {

/// A scenario with its number of ranks and their memory, what is searched for it, and the words that name it again.
struct RankedScenario {
  Scenario scenario;
  RecommendQuestion settings;
  CommandWords words;
};

/// Which GPUs are to serve a trace within limits, and what may be chosen.
struct GpuChoiceQuestion {
  TimedQuestion timed;              ///< of the whole trace; a replica has as many GPUs as ranks. At least one limit
  std::vector<std::int64_t> gpus;   ///< numbers to choose from, ascending; of a single one the most load is asked
  std::vector<std::int64_t> ranks;  ///< of a replica, to choose from
  double good_share = usual_good_share;  ///< of the requests that has to keep the limits, above 0 and at most 1
  std::vector<RouterKind> routers;  ///< before several replicas, to choose from; empty: see Deployment
  /// The scenario with so many ranks. Throws InputError where the model does not fit them.
  std::function<RankedScenario(std::int64_t ranks)> scenario_on;
};

/// What a search of settings found for replicas of so many ranks.
struct RankSearch {
  std::int64_t ranks = 1;
  RankedScenario asked;
  RecommendAnswer answer;
};

/// Ranks for which nothing was found, and why.
struct RefusedRanks {
  std::int64_t ranks = 1;
  std::string why;
};

/// Replicas with the same settings. Where no router is asked for the requests are shared out evenly: each is replayed
/// with the whole trace, whose requests come as many times as slowly as there are replicas.
struct Deployment {
  std::size_t search = 0;     ///< position in GpuChoice::searches
  std::size_t candidate = 0;  ///< position in its candidates
  std::int64_t ranks = 1;
  std::int64_t replicas = 1;
  double rate = 1;            ///< of all together, against the times of the trace
  std::optional<RouterKind> router;  ///< of several replicas, where it was asked for: that which serves them best
  ServedTimes cached;         ///< of one replica; behind a router of all
  ServedTimes uncached;       ///< of one replica, without prefix caching
  bool holds = false;         ///< keeps_limits

  std::int64_t gpus() const { return ranks * replicas; }
  std::int64_t cached_replicas() const { return router ? replicas : 1; }  ///< of which `cached` is
  double rate_of_replica() const { return rate / static_cast<double>(replicas); }
};

/// Ways to serve a trace, and the one to take.
struct GpuChoice {
  TimedAnswer timed;                    ///< of the first scenario that answers: limits, price, and whose clock it is
  std::vector<std::int64_t> gpus;       ///< as asked
  double good_share = usual_good_share;
  std::vector<RankSearch> searches;     ///< by ranks
  std::vector<RefusedRanks> refused;
  std::vector<Deployment> tried;        ///< by GPUs, then ranks; of each the settings that serve it best
  std::optional<std::size_t> pick;      ///< position in tried; nothing where none holds
  /// Of the pick, where a number of GPUs was to be chosen: the highest rate at which it holds, as far as it was looked
  /// for.
  std::optional<double> most_rate;
  /// Of the pick: the share within the limits if every time were longer by the clock's median error.
  double share_if_slower = 0;
  /// That plan a replica of the pick and replay it, behind a router all of them: its numbers again.
  std::vector<std::string> commands;

  bool asks_most_load() const { return gpus.size() == 1; }
  const RankSearch& search_of(const Deployment& deployment) const { return searches[deployment.search]; }
};

/// What a release says to the question.
struct EngineGpuChoice {
  std::string release;
  std::optional<GpuChoice> answer;
  std::string refused;  ///< why there is none
};

/// Which of them to take: as choose_gpus takes a deployment; nothing where none holds.
std::optional<std::size_t> choice_to_take(std::span<const EngineGpuChoice> engines);

/// Searches settings for every number of ranks, replays those of the front by the clock, and takes, of those that keep
/// the limits, the fewest GPUs, and of as many those with the fastest first token; of a single number of GPUs those
/// that hold the highest rate. Rates are looked for by halving, and numbers of replicas likewise: where a deployment
/// holds, one with a lower rate or more replicas is taken to hold too.
/// Throws InputError where no number of ranks answers, where the trace has no times, and as set_clock.
GpuChoice choose_gpus(const GpuChoiceQuestion& question,
                      const std::function<void(const RecommendProgress&)>& progress = {});

}  // namespace hybridkv
