#pragma once

#include <variant>
#include <vector>

#include "ask/plot/memory_curves.h"
#include "ask/plot/page_strip.h"
#include "ask/plot/plot_inputs.h"
#include "ask/plot/plot_kinds.h"
#include "ask/plot/prefix_stairs.h"
#include "ask/plot/replay_curves.h"
#include "ask/plot/request_curves.h"
#include "ask/plot/waterfall.h"

namespace hybridkv {

/// Pages of every plan of PlotInputs::set, see page_strips.
struct PageMaps {
  std::vector<std::vector<PageStrip>> plans;
};

/// What one kind of plot shows beside what the plans themselves say: block_size nothing, the others one each.
using PlotValues =
    std::variant<std::monostate, RequestBytes, ConcurrencyCurves, std::vector<PrefixSituation>, HitRates, PageMaps,
                 BlocksInUse, Waterfalls, MemoryCurves>;

/// Throws SpecError, path as a scenario has it, where a variation of the scenario cannot be planned or simulated.
PlotValues plot_values(PlotKind kind, const PlotInputs& inputs);

}  // namespace hybridkv
