#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "planner/plan.h"
#include "report/plot.h"

namespace hybridkv {

/// What can be drawn of a scenario.
enum class PlotKind { block_size, request_bytes, concurrency, page_map };

struct PlotKindInfo {
  PlotKind kind;
  const char* name;         ///< "block-size"; also the start of its files' names
  const char* description;  ///< for --help
};

/// All kinds, in the order of the enumeration.
std::span<const PlotKindInfo> all_plot_kinds();
/// The kind of that name; nothing for any other text.
std::optional<PlotKind> parse_plot_kind(std::string_view name);

/// The plans to draw and what they were made from: some plots ask the planner again, for another mode or memory.
struct PlotInputs {
  ModelSpec model;
  EngineSpec engine;
  LimitsSpec limits;
  PlanSet set;  ///< of these specs; at least one plan
};

/// The plots of one kind. Throws SpecError where a variation of the scenario cannot be planned or simulated.
std::vector<Plot> make_plots(PlotKind kind, const PlotInputs& inputs);

}  // namespace hybridkv
