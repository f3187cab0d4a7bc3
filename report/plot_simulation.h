#pragma once

#include <functional>
#include <vector>

#include "report/plot_inputs.h"

namespace hybridkv {

/// Plots of what the simulator measures under the inputs' trace. Deterministic: the same inputs give the same numbers.
/// Throws SpecError where the simulator does not model a plan (groups of different blocks) or cannot run it (a step
/// below the block in mode align).

/// Share of prompt tokens found again, one request at a time, for each pack: against the pack size, beside a pool that
/// never evicts, and against memory, an eighth to four times that of the plan.
Plot plot_hit_rate(const PlotInputs& inputs);

/// Blocks in use step by step while a fixed number of requests is in flight (decode included), and how many of them
/// run; one plot for each plan.
std::vector<Plot> plot_blocks_in_use(const PlotInputs& inputs);

}  // namespace hybridkv
