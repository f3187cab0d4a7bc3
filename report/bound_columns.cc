#include "report/bound_columns.h"

#include <algorithm>

namespace hybridkv {

namespace {

bool has_any(const std::vector<std::optional<LayoutBound>>& bounds) {
  return std::any_of(bounds.begin(), bounds.end(), [](const auto& bound) { return bound.has_value(); });
}

const LayoutBound* bound_of(const std::vector<std::optional<LayoutBound>>& bounds, std::size_t cache) {
  return cache < bounds.size() && bounds[cache] ? &*bounds[cache] : nullptr;
}

}  // namespace

void add_bound_columns(std::vector<Column>& columns, const std::vector<std::optional<LayoutBound>>& bounds) {
  if (!has_any(bounds)) return;
  columns.push_back({"feasible_rate", "possible", "at least"});
  columns.push_back({"upper_rate", "no policy", "more than"});
}

void add_bound_cells(std::vector<Cell>& cells, const std::vector<std::optional<LayoutBound>>& bounds,
                     std::size_t cache) {
  if (!has_any(bounds)) return;
  const LayoutBound* bound = bound_of(bounds, cache);
  cells.push_back(bound ? Cell(Percent{100 * bound->rate(bound->feasible_tokens)}) : Cell(std::monostate{}));
  cells.push_back(bound ? Cell(Percent{100 * bound->rate(bound->upper_tokens)}) : Cell(std::monostate{}));
}

Cell feasible_cell(const std::vector<std::optional<LayoutBound>>& bounds, std::size_t cache) {
  const LayoutBound* bound = bound_of(bounds, cache);
  return bound ? Cell(bound->feasible_tokens) : Cell(std::monostate{});
}

Cell upper_cell(const std::vector<std::optional<LayoutBound>>& bounds, std::size_t cache) {
  const LayoutBound* bound = bound_of(bounds, cache);
  return bound ? Cell(bound->upper_tokens) : Cell(std::monostate{});
}

}  // namespace hybridkv
