#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ask/plot/plot_inputs.h"
#include "simulator/schedule/simulation_stats.h"

namespace hybridkv {

/// What the simulator measures under the inputs' section `simulate`. Deterministic: the same inputs give the same
/// numbers. Both throw SpecError where the simulator does not model a plan or cannot run it (a step below the block in
/// mode align).

/// Memory of the hit rates, in shares of the plan's: eighths up to four times.
inline constexpr std::int64_t memory_eighths[] = {1, 2, 4, 8, 16, 32};
/// Of the plan's own memory: position in memory_eighths.
inline constexpr std::size_t whole_memory = 3;

/// So much of a memory each.
std::vector<std::int64_t> memories_around(std::int64_t memory_bytes);

/// Replays of one plan under each memory and without any bound.
struct PlanRates {
  std::vector<SimulationStats> by_memory;  ///< as memory_eighths
  SimulationStats unlimited;               ///< by a pool that never evicts
};

/// Prompt tokens found again.
struct HitRates {
  std::string trace;             ///< what was replayed, in words
  std::vector<PlanRates> plans;  ///< (plan of PlotInputs::compared)
};

HitRates hit_rates(const PlotInputs& inputs);

/// A trace as captions call it: "10,000 made-up requests (seed 1): …".
std::string trace_text(const TraceSpec& trace);

/// Blocks in use step by step while requests run beside each other, decode included.
struct BlocksInUse {
  std::string trace;
  DriverSpec driver;                      ///< as asked; for one request at a time a closed loop of as many as it says
  std::vector<SimulationStats> plans;     ///< (plan of PlotInputs::set)
  std::vector<std::int64_t> usable_ids;   ///< (plan of PlotInputs::set), of all arenas
};

BlocksInUse blocks_in_use(const PlotInputs& inputs);

}  // namespace hybridkv
