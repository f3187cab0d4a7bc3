#include "report/bars.h"

#include <numeric>

#include "base/error.h"

namespace hybridkv {

namespace {

/// A kind of part, or their sum.
struct KindRow {
  std::string title;
  std::vector<std::int64_t> bytes;  ///< by bar
};

std::vector<Cell> kind_cells(const KindRow& row, const Bars& bars) {
  std::vector<Cell> cells{row.title};
  for (const std::int64_t bytes : row.bytes) cells.emplace_back(ByteCount{bytes});
  if (bars.bars.size() > 1) return cells;
  cells.push_back(percent_of(row.bytes.front(), bars.bars.front().total()));
  cells.emplace_back(row.bytes.front());
  return cells;
}

}  // namespace

std::int64_t Bar::total() const { return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}); }

Table bars_table(const Bars& bars) {
  std::vector<Column> columns{{"part", "", "", Align::left}};
  for (const Bar& bar : bars.bars) {
    expects(bar.bytes.size() == bars.kinds.size(), "a bar has one number per kind");
    columns.push_back({bar.name, bars.bars.size() > 1 ? bar.name : "size", "", Align::right});
  }
  if (bars.bars.size() == 1) {
    columns.push_back({"share_percent", "share", "", Align::right});
    columns.push_back({"bytes", "bytes", "", Align::right});
  }
  Table table(std::move(columns));
  KindRow all{"all", {}};
  for (const Bar& bar : bars.bars) all.bytes.push_back(bar.total());
  for (std::size_t kind = 0; kind < bars.kinds.size(); ++kind) {
    KindRow row{bars.kinds[kind].title, {}};
    for (const Bar& bar : bars.bars) row.bytes.push_back(bar.bytes[kind]);
    if (std::accumulate(row.bytes.begin(), row.bytes.end(), std::int64_t{0}) > 0) table.add_row(kind_cells(row, bars));
  }
  table.set_footer(kind_cells(all, bars));
  return table;
}

}  // namespace hybridkv
