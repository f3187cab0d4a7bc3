#pragma once

#include <vector>

#include "ask/plot/replay_curves.h"
#include "report/plot/plot.h"

namespace hybridkv {

/// Plots of what the simulator measured under the inputs' trace. Pre, for both: the values are of the inputs.

/// Share of prompt tokens found again, one request at a time, for each pack: against the pack size, beside a pool that
/// never evicts, and against memory, an eighth to four times that of the plan.
Plot plot_hit_rate(const PlotInputs& inputs, const HitRates& values);

/// Blocks in use step by step while a fixed number of requests is in flight (decode included), and how many of them
/// run; one plot for each plan.
std::vector<Plot> plot_blocks_in_use(const PlotInputs& inputs, const BlocksInUse& values);

}  // namespace hybridkv
