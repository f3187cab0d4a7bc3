#pragma once

#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "ask/replay/simulate.h"
#include "report/field.h"

namespace hybridkv {

/// A cache in an answer of `simulate`, of which its tables have a row. Stats: what its index counts.
template <class Stats>
struct ReplayRow {
  const SimulateAnswer& answer;
  const ReplayedCache& cache;
  const Stats& stats;
};

/// Fields and tables of such rows. Pre: all caches are of that index.
template <class Stats>
struct ReplayFields {
  using Row = ReplayRow<Stats>;
  using List = std::vector<Field<Row>>;

  static const Stats& stats_of(const ReplayedCache& cache) { return std::get<Stats>(cache.index); }

  static Table table(const List& fields, const SimulateAnswer& answer) {
    std::vector<Row> rows;
    for (const ReplayedCache& cache : answer.caches) rows.push_back({answer, cache, stats_of(cache)});
    return table_of(fields, rows);
  }

  static Field<Row> name() {
    return {{"name", "cache"}, [](const Row& row) { return row.cache.name; }};
  }
  /// A number of the statistics, of the settings, and of the geometry that they are of.
  template <auto Member>
  static Field<Row> of(Column column) {
    return {std::move(column), [](const Row& row) { return row.stats.*Member; }};
  }
  template <auto Member>
  static Field<Row> setting(Column column) {
    return {std::move(column), [](const Row& row) { return row.stats.settings.*Member; }};
  }
  template <auto Member>
  static Field<Row> geometry(Column column) {
    return {std::move(column), [](const Row& row) { return row.stats.geometry.*Member; }};
  }
};

/// A request of a short trace, of which tables have a row. Record: what its index notes of one.
template <class Record>
struct RequestRow {
  const ReplayedCache* cache;
  const ListedRequest* listed;
  const Record& record() const { return std::get<Record>(listed->record); }
};

template <class Record>
Table requests_table(const std::vector<Field<RequestRow<Record>>>& fields, std::span<const ReplayedCache> caches) {
  std::vector<RequestRow<Record>> rows;
  for (const ReplayedCache& cache : caches)
    for (const ListedRequest& listed : cache.requests) rows.push_back({&cache, &listed});
  return table_of(fields, rows);
}

}  // namespace hybridkv
