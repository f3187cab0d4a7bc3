#pragma once

#include <string>

#include "report/document.h"
#include "report/format.h"
#include "simulator/sweep.h"

namespace hybridkv {

/// Identifies the JSON of `simulate`.
inline constexpr const char* simulate_schema_id = "hybridkv-simulate/1";

/// One simulation of one or several caches over one trace, as `simulate` reports it.
struct SimulateReport {
  std::string trace;           ///< what was replayed: a file, or the generated trace with its seed
  DriverSpec driver;
  SweepResult result;
  std::int64_t bad_lines = 0;  ///< of the trace file, skipped
};

/// What `simulate` says: the trace and its driver, a row per cache with hits, checkpoints, evictions and blocks in use;
/// which rules in play no replay of a real engine covers ("modelled"); upper bounds where they were asked for.
Document simulate_report(const SimulateReport& report);

/// One row per cache with every counter.
Table simulate_table(const SimulateReport& report);

/// `simulate --format FORMAT`: simulate_report as text or Markdown, simulate_table as csv; json adds the series over
/// time of each cache.
std::string render_simulate(const SimulateReport& report, Format format, const Style& style = {});

}  // namespace hybridkv
