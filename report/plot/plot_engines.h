#pragma once

#include "ask/plot/engine_curves.h"
#include "report/plot/plot.h"

namespace hybridkv {

/// Bytes of one request in every layout, to scale: K and V of its tokens, its running state, further states, and what
/// is wasted; the ideal as a line through all of them.
Plot plot_engine_requests(const EngineRequests& values);

/// Prompt tokens found again over memory, a curve an engine, with what a cache that keeps everything would find above.
Plot plot_engine_rates(const EngineRates& values);

}  // namespace hybridkv
