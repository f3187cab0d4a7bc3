#pragma once

#include <functional>
#include <vector>

#include "report/table.h"

namespace hybridkv {

/// One number of a table: its column, and where it stands in what the table has a row of. So both are said once, and
/// side by side.
template <class Row>
struct Field {
  Column column;
  std::function<Cell(const Row&)> cell;
};

/// A table with a column a field.
template <class Row>
Table empty_table(const std::vector<Field<Row>>& fields) {
  std::vector<Column> columns;
  for (const Field<Row>& field : fields) columns.push_back(field.column);
  return Table(std::move(columns));
}

template <class Row>
std::vector<Cell> cells_of(const std::vector<Field<Row>>& fields, const Row& row) {
  std::vector<Cell> cells;
  for (const Field<Row>& field : fields) cells.push_back(field.cell(row));
  return cells;
}

/// The same with its rows.
template <class Row>
Table table_of(const std::vector<Field<Row>>& fields, const std::vector<Row>& rows) {
  Table table = empty_table(fields);
  for (const Row& row : rows) table.add_row(cells_of(fields, row));
  return table;
}

}  // namespace hybridkv
