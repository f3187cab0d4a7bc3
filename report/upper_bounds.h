#pragma once

#include <optional>
#include <vector>

#include "ask/simulate.h"
#include "ask/simulate_radix.h"
#include "report/table.h"

namespace hybridkv {

/// What each cache found beside what could be found: a schedule that knows the trace and what no policy passes, where a
/// cache has such bounds; a pool that never evicts; any prefix.
Table upper_bounds_table(const SimulateAnswer& answer);
Table upper_bounds_table(const RadixAnswer& answer);

/// For programs: `feasible_tokens` and `upper_tokens` of every cache, empty without a bound.
Cell feasible_cell(const std::vector<std::optional<LayoutBound>>& bounds, std::size_t cache);
Cell upper_cell(const std::vector<std::optional<LayoutBound>>& bounds, std::size_t cache);

}  // namespace hybridkv
