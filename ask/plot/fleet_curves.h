#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ask/fleet/fleet.h"
#include "base/named_values.h"

namespace hybridkv {

/// What can be drawn of replicas behind routers.
enum class FleetPlotKind { gaps, course };

inline constexpr auto fleet_plot_kind_names = std::to_array<Named<FleetPlotKind>>(
    {{FleetPlotKind::gaps, "routing-gaps"},
     {FleetPlotKind::course, "routing-course"}});

constexpr std::string_view to_string(FleetPlotKind kind) { return name_in(fleet_plot_kind_names, kind); }
constexpr std::optional<FleetPlotKind> parse_fleet_plot_kind(std::string_view name) {
  return value_in(fleet_plot_kind_names, name);
}

/// A stretch of the trace, of as many requests as every other: what one router made of it.
struct FleetStretch {
  std::int64_t prompt_tokens = 0;
  std::int64_t found_tokens = 0;
  std::vector<std::int64_t> computed_tokens;  ///< (replica)

  /// Of the prompts, 0 .. 1.
  double found_rate() const {
    return prompt_tokens == 0 ? 0 : static_cast<double>(found_tokens) / static_cast<double>(prompt_tokens);
  }
  double imbalance() const { return most_over_mean(computed_tokens); }
};

/// A fleet by router, and how it went over the trace.
struct FleetCurves {
  std::string model;
  FleetAnswer answer;
  std::int64_t stretch_requests = 1;                             ///< of a stretch; the last may have fewer
  std::vector<std::vector<std::vector<FleetStretch>>> courses;   ///< (cache, router, stretch)
};

/// Shares of the prompt tokens, 0 .. 1: what one router's replicas found, and what more there would be, step by step.
struct FleetGaps {
  double found = 0;
  double routing = 0;  ///< by the best of the routers
  double sharing = 0;  ///< by one store of the memory of all
  double layout = 0;   ///< by one store in the best of the layouts
  double policy = 0;   ///< up to the bound of any routing and any eviction in any of the layouts
};

/// Of a cache and one of its routers. What is less than the step before it counts as nothing.
FleetGaps gaps_of(const FleetAnswer& answer, const FleetCache& cache, const RoutedFleet& routed);

/// Replays the scenario's trace through its fleet. Pre: the scenario asks for one. Throws as simulate_fleet.
FleetCurves fleet_curves(Scenario scenario, const std::function<void(const SweepProgress&)>& on_progress = {});

}  // namespace hybridkv
