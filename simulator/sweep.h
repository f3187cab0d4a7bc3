#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "simulator/replay.h"
#include "simulator/reuse_loss.h"
#include "simulator/simulation.h"
#include "simulator/simulation_stats.h"
#include "simulator/trace.h"

namespace hybridkv {

/// One cache to simulate.
struct SimulationSpec {
  CacheGeometry geometry;
  DriverSpec driver;
  /// Gets every record of this simulation, in the order in which requests end, from one thread at a time.
  std::function<void(const RequestRecord&)> on_record;
  /// With SweepSpec::losses gets the same records and what each lost; zero where it was refused as too long.
  std::function<void(const RequestRecord&, const ReuseLoss&)> on_loss;
  bool counts_copies = false;  ///< Simulation::count_copies
};

/// What several caches shall be told about one trace.
struct SweepSpec {
  std::vector<SimulationSpec> simulations;
  bool upper_bounds = false;  ///< also with an unlimited pool, and token-exact; memory then grows with the trace
  bool losses = false;        ///< also books what is computed again to its causes; memory then grows with the trace
  std::int64_t threads = 0;   ///< 0 = as many as the machine has cores
  std::function<void(const SweepProgress&)> on_progress;  ///< of run_replays
};

/// Results in the order of SweepSpec::simulations.
struct SweepResult {
  std::vector<SimulationStats> stats;
  std::vector<SimulationStats> unlimited;  ///< the same with an unlimited pool; empty unless asked for
  std::vector<std::int64_t> token_exact_hit_tokens;  ///< of the same prompts, by any prefix; empty unless asked for
  std::vector<LossStats> losses;           ///< empty unless asked for
  std::int64_t prompt_tokens = 0;          ///< of the whole trace
  std::int64_t requests = 0;               ///< of the whole trace
};

/// Runs all simulations over one trace, see run_replays. Throws what the trace or a simulation throws; SpecError where
/// there is nothing to simulate or threads < 0.
SweepResult run_sweep(TraceSource& trace, const SweepSpec& spec);

}  // namespace hybridkv
