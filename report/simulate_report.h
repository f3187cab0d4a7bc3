#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/document.h"
#include "report/format.h"
#include "simulator/sweep.h"

namespace hybridkv {

/// Identifies the JSON of `simulate`.
inline constexpr const char* simulate_schema_id = "hybridkv-simulate/1";

/// A trace of at most this many requests is listed request by request.
inline constexpr std::int64_t most_listed_requests = 12;

/// One simulation of one or several caches over one trace, as `simulate` reports it.
struct SimulateReport {
  std::string trace;           ///< what was replayed: a file, or the generated trace with its seed
  DriverSpec driver;
  SweepResult result;
  std::int64_t bad_lines = 0;  ///< of the trace file, skipped
  /// (cache), most tokens that a prompt shares with an earlier one; unset where the cache hits and nobody asks.
  std::vector<std::optional<std::int64_t>> longest_repeats;
  /// (cache, request), in the order in which requests ended; no more than most_listed_requests + 1 are looked at.
  std::vector<std::vector<RequestRecord>> requests;
};

/// What `simulate` says: the trace and its driver, a row per cache with hits, checkpoints, evictions and blocks in use;
/// which rules in play no replay of a real engine covers ("modelled"); upper bounds where they were asked for; each
/// request of a short trace; turns of the conversation and the course over time where there is one cache.
Document simulate_report(const SimulateReport& report);

/// One row per cache with every counter.
Table simulate_table(const SimulateReport& report);

/// `simulate --format FORMAT`: simulate_report as text or Markdown, simulate_table as csv; json adds the series over
/// time of each cache, its hits by turn and the requests of a short trace.
std::string render_simulate(const SimulateReport& report, Format format, const Style& style = {});

}  // namespace hybridkv
