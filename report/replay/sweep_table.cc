#include "report/replay/sweep_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "report/human.h"

namespace hybridkv {

namespace {

/// A column as people read it: bytes and shares with their units.
Cell for_people_cell(const std::string& column, Cell cell) {
  if (const auto* const whole = std::get_if<std::int64_t>(&cell))
    return column.find("bytes") == column.npos ? cell : Cell(ByteCount{*whole});
  if (const auto* const real = std::get_if<Real>(&cell)) {
    if (column == "hit_rate") return Percent{100 * real->value};
    if (column.ends_with("_percent")) return Percent{real->value};
    return Real{real->value};
  }
  return cell;
}

/// "engine.tensor_parallel" without its section.
std::string key_of(const std::string& path) { return path.substr(path.rfind('.') + 1); }

Cell axis_value(const Cell& cell) { return std::holds_alternative<std::monostate>(cell) ? Cell("default") : cell; }

/// "hit_rate" as "hit rate".
std::string title_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

}  // namespace

SweepTable::SweepTable(const SweepRows& rows, const SweepView& view)
    : rows_(rows), columns_(view.columns), is_pivot_(!view.pivot.empty()) {
  if (is_pivot_) columns_ = {view.pivot};
  if (columns_.empty()) {
    columns_ = {"block_size_tokens", "bytes_per_request", "usable_concurrency"};
    if (rows.spec().simulated) columns_.emplace_back("hit_rate");
    if (rows.spec().verified) columns_.emplace_back("verification");
  }
  const std::vector<std::string> known = rows.columns();
  for (const std::string& column : columns_) {
    const auto found = std::find(known.begin(), known.end(), column);
    if (found == known.end()) {
      const std::string meant = did_you_mean(column, known);
      const bool needs_replay = !rows.spec().simulated && meant.empty();
      throw InputError(fmt::format("{}: rows have no such column{}", in_quotes(column),
                                   !meant.empty()  ? meant
                                   : needs_replay ? "; those of the replay are there with --simulate"
                                                  : fmt::format("; they have {}", fmt::join(known, ", "))));
    }
    places_.push_back(static_cast<std::size_t>(found - known.begin()));
  }
  if (is_pivot_ && rows.spec().axes.empty())
    throw InputError(fmt::format("--pivot {}: nothing varies; give a key several values, like --tp 1,2,4", view.pivot));
}

void SweepTable::add(const SweepPoint& point, const std::vector<Cell>& axes) {
  const std::vector<Cell> all = rows_.cells(point, axes);
  std::vector<Cell> shown;
  for (std::size_t i = 0; i < places_.size(); ++i) shown.push_back(for_people_cell(columns_[i], all[places_[i]]));
  axes_.push_back(axes);
  values_.push_back(std::move(shown));
  if (point.reason.empty()) return;
  const auto found = std::find(reasons_.begin(), reasons_.end(), point.reason);
  if (found != reasons_.end()) {
    ++reason_counts_[static_cast<std::size_t>(found - reasons_.begin())];
    return;
  }
  reasons_.push_back(point.reason);
  reason_counts_.push_back(1);
}

Table SweepTable::plain() const {
  std::vector<std::vector<Cell>> rows;
  for (std::size_t point = 0; point < axes_.size(); ++point) {
    std::vector<Cell>& row = rows.emplace_back();
    for (const Cell& value : axes_[point]) row.push_back(axis_value(value));
    row.insert(row.end(), values_[point].begin(), values_[point].end());
  }
  std::vector<Column> columns;
  for (const std::string& axis : rows_.spec().axes) columns.push_back({key_of(axis), key_of(axis)});
  for (const std::string& column : columns_) columns.push_back({column, title_of(column)});
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto is_word = [&](const auto& row) { return std::holds_alternative<std::string>(row[i]); };
    if (std::all_of(rows.begin(), rows.end(), is_word)) columns[i].align = Align::left;
  }
  Table table(std::move(columns));
  for (std::vector<Cell>& row : rows) table.add_row(std::move(row));
  return table;
}

Table SweepTable::pivoted() const {
  const std::vector<std::string>& axes = rows_.spec().axes;
  std::vector<std::string> across;            // values of the last axis, as they come
  std::vector<std::vector<std::string>> down; // of the others
  std::vector<std::vector<Cell>> cells;       // (down, across)
  const auto position = [](auto& known, const auto& value) {
    const auto found = std::find(known.begin(), known.end(), value);
    const auto at = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) known.push_back(value);
    return at;
  };
  for (std::size_t point = 0; point < axes_.size(); ++point) {
    std::vector<std::string> others;
    for (std::size_t axis = 0; axis + 1 < axes.size(); ++axis)
      others.push_back(human_cell(axis_value(axes_[point][axis])));
    const std::size_t row = position(down, others);
    const std::size_t column = position(across, human_cell(axis_value(axes_[point].back())));
    if (row == cells.size()) cells.emplace_back();
    if (column >= cells[row].size()) cells[row].resize(column + 1);
    cells[row][column] = values_[point].front();
  }
  std::vector<Column> columns;
  for (std::size_t axis = 0; axis + 1 < axes.size(); ++axis)
    columns.push_back({key_of(axes[axis]), key_of(axes[axis])});
  for (const std::string& value : across) columns.push_back({value, fmt::format("{} {}", key_of(axes.back()), value)});
  Table table(std::move(columns));
  for (std::size_t row = 0; row < down.size(); ++row) {
    std::vector<Cell> line(down[row].begin(), down[row].end());
    cells[row].resize(across.size());
    line.insert(line.end(), cells[row].begin(), cells[row].end());
    table.add_row(std::move(line));
  }
  return table;
}

Document SweepTable::document() const {
  Document document;
  if (is_pivot_) document.blocks.emplace_back(Heading{title_of(columns_.front())});
  document.blocks.emplace_back(is_pivot_ ? pivoted() : plain());
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < reasons_.size(); ++i)
    reasons.push_back(fmt::format("{}: {}", human_plural(reason_counts_[i], "point"), reasons_[i]));
  if (!reasons.empty()) document.blocks.emplace_back(Listing{reasons, true});
  return document;
}

}  // namespace hybridkv
