#include "report/upper_bounds.h"

#include <algorithm>

namespace hybridkv {

namespace {

bool has_any(const std::vector<std::optional<LayoutBound>>& bounds) {
  return std::any_of(bounds.begin(), bounds.end(), [](const auto& bound) { return bound.has_value(); });
}

const LayoutBound* bound_of(const std::vector<std::optional<LayoutBound>>& bounds, std::size_t cache) {
  return cache < bounds.size() && bounds[cache] ? &*bounds[cache] : nullptr;
}

/// Columns of the bounds of layouts; none where no cache has one.
void add_bound_columns(std::vector<Column>& columns, const std::vector<std::optional<LayoutBound>>& bounds) {
  if (!has_any(bounds)) return;
  columns.push_back({"feasible_rate", "possible", "at least"});
  columns.push_back({"upper_rate", "no policy", "more than"});
}

/// The cells of one cache for these columns.
void add_bound_cells(std::vector<Cell>& cells, const std::vector<std::optional<LayoutBound>>& bounds,
                     std::size_t cache) {
  if (!has_any(bounds)) return;
  const LayoutBound* bound = bound_of(bounds, cache);
  cells.push_back(bound ? Cell(Percent{100 * bound->rate(bound->feasible_tokens)}) : Cell(std::monostate{}));
  cells.push_back(bound ? Cell(Percent{100 * bound->rate(bound->upper_tokens)}) : Cell(std::monostate{}));
}

}  // namespace

Table upper_bounds_table(const SimulateAnswer& answer) {
  std::vector<Column> columns{{"name", "cache", "", Align::left}, {"hit_tokens", "hit", "tokens"},
                              {"hit_rate", "hit", "rate"}};
  add_bound_columns(columns, answer.bounds);
  columns.insert(columns.end(), {{"unlimited_hit_tokens", "pool that never evicts", "tokens"},
                                 {"unlimited_hit_rate", "", "rate"},
                                 {"token_exact_hit_tokens", "token by token", "tokens"},
                                 {"token_exact_hit_rate", "", "rate"}});
  Table table(std::move(columns));
  for (std::size_t i = 0; i < answer.result.unlimited.size(); ++i) {
    const SimulationStats& stats = answer.result.stats[i];
    const SimulationStats& unlimited = answer.result.unlimited[i];
    const std::int64_t exact = answer.result.token_exact_hit_tokens[i];
    std::vector<Cell> cells{stats.geometry.name, stats.hit_tokens, Percent{100 * stats.hit_rate()}};
    add_bound_cells(cells, answer.bounds, i);
    cells.insert(cells.end(), {unlimited.hit_tokens, Percent{100 * unlimited.hit_rate()}, exact,
                               percent_of(exact, stats.taken_prompt_tokens)});
    table.add_row(std::move(cells));
  }
  return table;
}

Table upper_bounds_table(const RadixAnswer& answer) {
  std::vector<Column> columns{{"name", "cache", "", Align::left}, {"hit_tokens", "hit", "tokens"},
                              {"hit_rate", "hit", "rate"}};
  add_bound_columns(columns, answer.bounds);
  columns.push_back({"token_exact_hit_tokens", "token by token", "tokens"});
  Table table(std::move(columns));
  for (std::size_t i = 0; i < answer.token_exact_hit_tokens.size(); ++i) {
    const RadixStats& stats = answer.stats[i];
    std::vector<Cell> cells{stats.name, stats.hit_tokens, Percent{100 * stats.hit_rate()}};
    add_bound_cells(cells, answer.bounds, i);
    cells.emplace_back(answer.token_exact_hit_tokens[i]);
    table.add_row(std::move(cells));
  }
  return table;
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
