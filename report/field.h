#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "report/table.h"

namespace hybridkv {

/// One value of a table: its column, and where it stands in what the table has a row of. So both are said once, and
/// side by side.
template <class Row>
struct Field {
  /// `getter`: a member of Row, or a function of it; cell_of says what its values look like. Words and yes or no stand
  /// on the left where the column does not say otherwise. What is not `shown` has no column.
  template <class Getter>
  Field(Column column_of_it, Getter getter, bool is_shown = true) : column(std::move(column_of_it)), shown(is_shown) {
    using Value = std::decay_t<std::invoke_result_t<Getter, const Row&>>;
    if (column.align == Align::of_value && is_words<Value>) column.align = Align::left;
    cell = [getter = std::move(getter)](const Row& row) { return cell_of(std::invoke(getter, row)); };
  }

  Column column;
  std::function<Cell(const Row&)> cell;
  bool shown;
};

/// A getter through members and functions, one after the other. Pointers and optionals on the way are not empty.
template <class First, class... Rest>
auto via(First first, Rest... rest) {
  return [=](const auto& row) {
    if constexpr (sizeof...(Rest) == 0)
      return std::invoke(first, row);
    else
      return via(rest...)(std::invoke(first, row));
  };
}

/// A getter that is asked only where the condition holds; elsewhere the cell is empty.
template <class Condition, class Getter>
auto where(Condition condition, Getter getter) {
  return [=](const auto& row) {
    using Value = std::decay_t<decltype(std::invoke(getter, row))>;
    return std::invoke(condition, row) ? std::optional<Value>(std::invoke(getter, row)) : std::nullopt;
  };
}

/// A getter whose number is shown as a Real, Percent, ByteCount or Length; `digits` are those of a Real or Percent.
template <class Shown, class Getter, class... Digits>
auto as(Getter getter, Digits... digits) {
  return [=](const auto& row) { return Shown{std::invoke(getter, row), digits...}; };
}

/// A table with a column a field.
template <class Row>
Table empty_table(const std::vector<Field<Row>>& fields) {
  std::vector<Column> columns;
  for (const Field<Row>& field : fields)
    if (field.shown) columns.push_back(field.column);
  return Table(std::move(columns));
}

template <class Row>
std::vector<Cell> cells_of(const std::vector<Field<Row>>& fields, const Row& row) {
  std::vector<Cell> cells;
  for (const Field<Row>& field : fields)
    if (field.shown) cells.push_back(field.cell(row));
  return cells;
}

/// The same with its rows.
template <class Row, class Rows = std::vector<Row>>
Table table_of(const std::vector<Field<Row>>& fields, const Rows& rows) {
  Table table = empty_table(fields);
  for (const Row& row : rows) table.add_row(cells_of(fields, row));
  return table;
}

/// A table of numbers that lie in vectors beside each other: a row is a position in them, from 0.
inline Table table_of_positions(const std::vector<Field<std::size_t>>& fields, std::size_t count) {
  Table table = empty_table(fields);
  for (std::size_t at = 0; at < count; ++at) table.add_row(cells_of(fields, at));
  return table;
}

}  // namespace hybridkv
