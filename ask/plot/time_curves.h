#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ask/clock/load_curve.h"
#include "base/named_values.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// What can be drawn of replays by a clock.
enum class TimePlotKind { latency, step_time };

inline constexpr auto time_plot_kind_names = std::to_array<Named<TimePlotKind>>(
    {{TimePlotKind::latency, "latency"},
     {TimePlotKind::step_time, "step-time"}});

constexpr std::string_view to_string(TimePlotKind kind) { return name_in(time_plot_kind_names, kind); }
constexpr std::optional<TimePlotKind> parse_time_plot_kind(std::string_view name) {
  return value_in(time_plot_kind_names, name);
}

/// Rates that are drawn where nobody names others: three doublings down and up from the times of the trace.
inline constexpr double usual_rates[] = {0.125, 0.25, 0.5, 1, 2, 4, 8};

/// A scenario whose caches get a curve each.
struct TimedSetting {
  std::string name;  ///< of its curve; empty: each has the name of its cache
  Scenario scenario;
};

/// Load of several caches beside each other, of one model, trace and GPU.
struct TimeCurves {
  std::string model;
  std::vector<LoadCurve> curves;     ///< at least one, all at the same rates
  std::vector<std::string> refused;  ///< settings that have none, and why
};

/// Replays every setting at every rate, one or more of them. Throws InputError where no setting can be, and for a
/// driver that is no open loop.
TimeCurves time_curves(const std::vector<TimedSetting>& settings, const TimedQuestion& question,
                       const std::vector<double>& rates,
                       const std::function<void(int done, int total)>& on_progress = {});

}  // namespace hybridkv
