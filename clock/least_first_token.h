#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "clock/step_clock.h"

namespace hybridkv {

/// A prompt of which a cache can have had so many tokens at most.
struct LeastPrompt {
  double arrival = 0;        ///< seconds
  std::int64_t tokens = 1;   ///< >= 1
  std::int64_t found = 0;    ///< at most, below `tokens`
};

/// Seconds from the start of its first step to the first token at the client that a prompt takes at least, however it
/// is cut into steps of at most `budget` tokens and whatever else they compute: as if it were alone. Cutting never
/// makes the sum of steps shorter, as every operator takes the larger of two costs that add up, but in windows, where
/// the pairs of the finest cut are counted.
double least_prompt_seconds(const StepClock& clock, std::int64_t budget, const LeastPrompt& prompt);

/// Seconds of the machine that it takes for itself whatever runs beside it: its operations at their share of the peaks,
/// its scans and its bytes on links. Weights are read and kernels launched for all of a step, and are left out.
double own_machine_seconds(const StepClock& clock, const LeastPrompt& prompt);

/// The least mean of the seconds from arrival to end over all schedules of jobs on one machine, which may be put aside
/// for another at any time: the job with the least left goes first (Schrage, A proof of the optimality of the shortest
/// remaining processing time discipline, 1968). `works`: seconds of each. 0 of none.
double least_mean_flow(std::span<const LeastPrompt> jobs, std::span<const double> works);

}  // namespace hybridkv
