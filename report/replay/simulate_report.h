#pragma once

#include <string>

#include "ask/replay/simulate.h"
#include "report/document.h"
#include "report/format.h"

namespace hybridkv {

/// Identifies the JSON of `simulate`.
inline constexpr const char* simulate_schema_id = "hybridkv-simulate/1";

/// What `simulate` says: the trace and its driver, a row per cache with what is found again and what it holds; which
/// rules in play no replay of a real engine covers ("modelled"); upper bounds and where the tokens went, where that was
/// asked for; each request of a short trace; of caches of blocks turns of the conversation and the course over time
/// where there is one. Pre: there is a cache.
Document simulate_report(const SimulateAnswer& answer);

/// One row per cache with every counter.
Table simulate_table(const SimulateAnswer& answer);

/// `simulate --format FORMAT`: simulate_report as text or Markdown, simulate_table as csv, with losses where they were
/// asked for; json adds the series over time of each cache, its hits by turn, its losses and the requests of a short
/// trace.
std::string render_simulate(const SimulateAnswer& answer, Format format, const Style& style = {});

}  // namespace hybridkv
