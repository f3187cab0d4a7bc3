#pragma once

#include "ask/plot/time_curves.h"
#include "report/plot/plot.h"

namespace hybridkv {

/// Mean time of a first token and of each further one against the load, with and without prefix caching, a curve a
/// cache; bands are the median error of its clock. A curve ends where more requests come than are served.
Plot plot_latency(const TimeCurves& values);

/// Where the time of all steps goes against the load, stacked, for each cache and without prefix caching; a panel each.
Plot plot_step_time(const TimeCurves& values);

}  // namespace hybridkv
