#pragma once

#include "ask/replay/simulate.h"
#include "report/table.h"

namespace hybridkv {

/// What each cache found beside what could be found: a schedule that knows the trace and what no policy passes, where a
/// cache has such bounds; a pool that never evicts, where its index has one; any prefix. Pre: upper bounds were asked
/// for.
Table upper_bounds_table(const SimulateAnswer& answer);

/// Has any cache a bound of what policies find?
bool has_bounds(const SimulateAnswer& answer);

/// For programs: `feasible_tokens` and `upper_tokens` of a cache, empty without a bound.
Cell feasible_cell(const ReplayedCache& cache);
Cell upper_cell(const ReplayedCache& cache);

}  // namespace hybridkv
