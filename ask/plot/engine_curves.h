#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ask/compare/compare_settings.h"
#include "base/named_values.h"
#include "planner/cache_plan.h"
#include "planner/evidence.h"
#include "simulator/sweep.h"

namespace hybridkv {

/// What can be drawn of several engines beside each other.
enum class EnginePlotKind { request, hit_rate };

inline constexpr auto engine_plot_kind_names = std::to_array<Named<EnginePlotKind>>(
    {{EnginePlotKind::request, "engine-request"},
     {EnginePlotKind::hit_rate, "engine-hit-rate"}});

constexpr std::string_view to_string(EnginePlotKind kind) { return name_in(engine_plot_kind_names, kind); }
constexpr std::optional<EnginePlotKind> parse_engine_plot_kind(std::string_view name) {
  return value_in(engine_plot_kind_names, name);
}

/// One request in the layout of one engine.
struct EngineRequest {
  std::string name;      ///< CompareSetting::name
  Evidence evidence = Evidence::run;
  std::string refused;   ///< why there is none; empty: there is one
  LoadWaste parts;       ///< of this one request
  std::int64_t bytes = 0;  ///< of all ids that it takes, also those that no part above names
};

/// One request of one length in every layout.
struct EngineRequests {
  std::string model;
  std::int64_t tokens = 0;
  std::int64_t ideal_bytes = 0;  ///< without paging, with one state; 0 where all are refused
  std::vector<EngineRequest> engines;
};

/// Of the longest length of the settings, all of one model. Pre: at least one setting.
EngineRequests engine_requests(const std::vector<CompareSetting>& settings);

/// Shares of prompt tokens found again, 0 to 1, over memory.
struct EngineRates {
  std::string model;
  std::string trace;                       ///< what was replayed, in words
  std::vector<std::int64_t> memory_bytes;  ///< ascending
  std::vector<std::string> names;          ///< (engine)
  std::vector<Evidence> evidence;          ///< (engine)
  /// (engine, memory); nothing where that much cannot be planned, or is too little for a request of the trace.
  std::vector<std::vector<std::optional<double>>> found;
  /// (memory) of the layout in which most could be found: no policy of any of them finds more; nothing without a bound.
  std::vector<std::optional<double>> upper;
  double token_exact = 0;                  ///< by a cache that keeps everything and finds any prefix
};

/// Replays the trace of each setting, section simulate, at an eighth to four times its memory, whatever the index of
/// its cache. Throws InputError where a number of blocks stands for the memory, and where no engine can be replayed.
EngineRates engine_rates(const std::vector<CompareSetting>& settings,
                         const std::function<void(int done, int total)>& on_progress = {});

}  // namespace hybridkv
