#pragma once

#include <optional>
#include <vector>

#include "ask/layout_bound.h"
#include "report/table.h"

namespace hybridkv {

/// Columns of what any policy could find, beside what a cache found; none where no cache has a bound.
void add_bound_columns(std::vector<Column>& columns, const std::vector<std::optional<LayoutBound>>& bounds);
/// The cells of one cache for these columns.
void add_bound_cells(std::vector<Cell>& cells, const std::vector<std::optional<LayoutBound>>& bounds,
                     std::size_t cache);

/// The same for programs: `feasible_tokens` and `upper_tokens` of every cache, empty without a bound.
Cell feasible_cell(const std::vector<std::optional<LayoutBound>>& bounds, std::size_t cache);
Cell upper_cell(const std::vector<std::optional<LayoutBound>>& bounds, std::size_t cache);

}  // namespace hybridkv
