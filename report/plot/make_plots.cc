#include "report/plot/make_plots.h"

#include <stdexcept>

#include "report/plot/page_map_plots.h"
#include "report/plot/plot_layouts.h"
#include "report/plot/plot_memory.h"
#include "report/plot/plot_prefix.h"
#include "report/plot/plot_simulation.h"
#include "report/plot/plot_waterfall.h"

namespace hybridkv {

std::vector<Plot> make_plots(PlotKind kind, const PlotInputs& inputs, const PlotValues& values) {
  switch (kind) {
    case PlotKind::block_size: return {plot_block_size(inputs.compared)};
    case PlotKind::request_bytes: return {plot_request_bytes(inputs.set, std::get<RequestBytes>(values))};
    case PlotKind::concurrency: return {plot_concurrency(inputs.compared, std::get<ConcurrencyCurves>(values))};
    case PlotKind::staircase: return {plot_staircase(inputs, std::get<std::vector<PrefixSituation>>(values))};
    case PlotKind::hit_rate: return {plot_hit_rate(inputs, std::get<HitRates>(values))};
    case PlotKind::page_map: return plot_page_maps(inputs.set, std::get<PageMaps>(values));
    case PlotKind::blocks_in_use: return plot_blocks_in_use(inputs, std::get<BlocksInUse>(values));
    case PlotKind::waterfall: return plot_waterfalls(inputs, std::get<Waterfalls>(values));
    case PlotKind::memory_curve: return {plot_memory_curves(inputs, std::get<MemoryCurves>(values))};
  }
  throw std::logic_error("unknown plot kind");
}

}  // namespace hybridkv
