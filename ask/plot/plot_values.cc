#include "ask/plot/plot_values.h"

#include <stdexcept>

#include "ask/replay/simulate_request.h"
#include "base/error.h"

namespace hybridkv {

namespace {

PlotValues values_of(PlotKind kind, const PlotInputs& inputs) {
  switch (kind) {
    case PlotKind::block_size: return std::monostate{};
    case PlotKind::request_bytes: return request_bytes(inputs.set);
    case PlotKind::concurrency: return concurrency_curves(inputs.compared);
    case PlotKind::staircase: return prefix_stairs(inputs);
    case PlotKind::hit_rate: return hit_rates(inputs);
    case PlotKind::page_map: {
      PageMaps maps;
      for (const CachePlan& plan : inputs.set.plans) maps.plans.push_back(page_strips(plan));
      return maps;
    }
    case PlotKind::blocks_in_use: return blocks_in_use(inputs);
    case PlotKind::waterfall: return waterfalls(inputs);
    case PlotKind::memory_curve: return memory_curves(inputs);
  }
  throw std::logic_error("unknown plot kind");
}

}  // namespace

PlotValues plot_values(PlotKind kind, const PlotInputs& inputs) {
  try {
    return values_of(kind, inputs);
  } catch (const SpecError& error) {
    throw scenario_error(error);
  }
}

}  // namespace hybridkv
