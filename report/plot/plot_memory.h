#pragma once

#include "ask/plot/memory_curves.h"
#include "report/plot/plot.h"

namespace hybridkv {

/// Hit rate over memory: a curve an eviction policy, with what a schedule that knows the trace finds and what no policy
/// passes above them; ticks at memories that machines have.
Plot plot_memory_curves(const PlotInputs& inputs, const MemoryCurves& values);

}  // namespace hybridkv
