#pragma once

#include <vector>

#include "clock/rank_loop.h"

namespace hybridkv {

/// The steps that an engine makes of requests, a group of equal ones at a time. Where it has several ranks with
/// requests of their own (attention data parallel), each puts its part of a step together for itself, and all take it
/// together, as experts are computed for all of them. It knows no time: whoever drives it says when requests come, and
/// sets the events that it waits for.
class EngineLoop : public LoopEvents {
 public:
  /// Pre: rules.ranks >= 1.
  EngineLoop(const LoopRules& rules, const std::array<std::int64_t, most_windows>& windows);

  /// A request joins the queue of the rank with the fewest.
  void submit(const LoopRequest& request);
  bool idle() const;
  std::int64_t num_running() const;
  std::int64_t num_waiting() const;
  /// Tokens of prompts in it that are neither computed nor found.
  std::int64_t waiting_tokens() const;

  /// Decides what the next step computes. A request alone is served though it does not fit the cache. Pre: not idle.
  void next();
  /// So many steps like it follow each other before a request ends or arrivals are looked at; 1 with prompts.
  std::int64_t most_steps() const;
  /// The batch of `steps` such steps, at their middle: that of the rank with the most rows, for which all wait, beside
  /// the rows of the others.
  StepBatch middle(std::int64_t steps) const;
  /// Takes `steps` of them, 1 .. most_steps().
  void complete(std::int64_t steps);

 private:
  bool all_generate() const;
  bool all_have_prompts() const;

  std::vector<RankLoop> ranks_;
  std::int64_t balance_steps_;
  std::int64_t waited_ = 0;  // steps since prompts were last admitted or a wait for them ran out
  bool waits_ = false;       // do prompts wait in this step for those of other ranks?
};

}  // namespace hybridkv
