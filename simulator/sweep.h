#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "simulator/cache_replay.h"

namespace hybridkv {

/// What to find out of several caches under one trace.
struct SweepSpec {
  std::vector<SimulationSpec> simulations;
  bool upper_bounds = false;  ///< also with an unlimited pool, and token-exact; memory then grows with the trace
  bool losses = false;        ///< SimulationSpec::losses of all
  std::int64_t threads = 0;   ///< 0 = as many as the machine has cores
  std::function<void(const SweepProgress&)> on_progress = {};  ///< of run_replays
};

/// What one cache found of a trace, and what could be found.
struct ReplayedIndex : ReplayResult {
  std::optional<SimulationStats> unlimited;            ///< the same with an unlimited pool; where asked, of blocks
  std::optional<std::int64_t> token_exact_hit_tokens;  ///< of the same prompts, by any prefix; unset unless asked for

  const ReplayCounts& counts() const { return counts_of(index); }
  /// Of a cache of blocks. Pre: it is one.
  const SimulationStats& blocks() const { return std::get<SimulationStats>(index); }
  SimulationStats& blocks() { return std::get<SimulationStats>(index); }
};

/// Results in the order of SweepSpec::simulations.
struct SweepResult {
  std::vector<ReplayedIndex> caches;
  std::int64_t prompt_tokens = 0;  ///< of the whole trace
  std::int64_t requests = 0;       ///< of the whole trace
};

/// Runs all simulations over one trace, see run_replays. Throws what the trace or a simulation throws; SpecError where
/// there is nothing to simulate or threads < 0.
SweepResult run_sweep(TraceSource& trace, const SweepSpec& spec);

}  // namespace hybridkv
