#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ask/plot/plot_inputs.h"
#include "simulator/replay_counts.h"

namespace hybridkv {

/// Hit rates of one plan over memory, by what is evicted.
struct MemoryCurves {
  std::string trace;                         ///< what was replayed, in words
  std::vector<std::int64_t> memory_bytes;    ///< ascending, evenly spaced in its logarithm
  std::vector<EvictionPolicy> policies;
  /// (policy, memory); nothing where that much cannot be planned.
  std::vector<std::vector<std::optional<ReplayCounts>>> found;
  std::vector<std::optional<double>> upper;  ///< (memory) share that no policy passes; nothing without a bound
  std::vector<std::optional<double>> feasible;  ///< (memory) share that a schedule which knows the trace finds
};

/// Memory of the curves, of what the plan has.
inline constexpr double least_curve_memory = 0.25, most_curve_memory = 32;
inline constexpr int curve_points = 15;

/// Of the first plan of PlotInputs::set, whatever the engine's index: its own eviction and, where blocks can be ordered
/// by them, the two policies that find most (docs/policies.md); with memory of the host behind it the engine's alone.
/// Requests that run beside each other have no bound. Throws SpecError where the plan finds no prefix or cannot be
/// simulated, InputError where a number of blocks stands for the memory.
MemoryCurves memory_curves(const PlotInputs& inputs);

}  // namespace hybridkv
