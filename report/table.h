#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "report/format.h"

namespace hybridkv {

enum class Align { of_value, left, right };  ///< of_value: as a Field has it, else right

/// Who gets to see a column.
enum class Audience {
  everyone,
  people,    ///< terminal and Markdown: what programs get as several columns
  programs,  ///< csv and json: what would make the table too wide to read
};

/// One column of a table.
struct Column {
  std::string name;            ///< stable name in csv and json: "block_size_tokens"
  std::string title;           ///< heading for people: "block"
  std::string subtitle;        ///< second line of the heading, a unit or a word more: "tokens"; empty: none
  Align align = Align::of_value;
  Audience audience = Audience::everyone;
};

/// A column that only programs get, and so without a heading.
inline Column for_programs(std::string name) { return {.name = std::move(name), .audience = Audience::programs}; }
/// A column that only people get, and so without a name.
inline Column for_people(std::string title, std::string subtitle = "", Align align = Align::of_value) {
  return {"", std::move(title), std::move(subtitle), align, Audience::people};
}

/// A number shown with that many decimals.
struct Real {
  double value = 0;
  int digits = 2;
};
/// A size shown in its largest binary unit.
struct ByteCount {
  std::int64_t value = 0;
};
/// A share shown as "0.58 %".
struct Percent {
  double value = 0;  ///< 100 for the whole
  int digits = 2;
};
/// The longest sequence that fits, in tokens; the largest length there is (largest_tokens) says that no length is too
/// long: "any", for programs nothing.
struct Length {
  std::int64_t tokens = 0;
};

/// One typed value. For people: "2,146,304", "1,334.50", "675.5 MiB", "0.58 %", "yes". For programs: the raw number,
/// all its digits. Nothing (monostate) is an empty cell, null in json. The names keep integers 64-bit.
using Cell = std::variant<std::monostate, bool, std::int64_t, Real, ByteCount, Percent, Length, std::string>;

/// Whether cells of these values hold words, or yes and no.
template <class Value>
inline constexpr bool is_words =
    std::is_same_v<Value, bool> || std::is_enum_v<Value> || std::is_convertible_v<Value, std::string_view>;
template <class Value>
inline constexpr bool is_words<std::optional<Value>> = is_words<Value>;

/// The value; of an enum its word.
template <class Value>
Cell cell_of(const Value& value) {
  if constexpr (std::is_enum_v<Value>)
    return std::string(to_string(value));
  else if constexpr (std::is_convertible_v<Value, std::string_view>)
    return std::string(value);
  else
    return value;
}
/// The value, or an empty cell.
template <class Value>
Cell cell_of(const std::optional<Value>& value) {
  return value ? cell_of(*value) : Cell();
}

/// How much of the whole the part is, or an empty cell where there is no whole.
Cell percent_of(std::int64_t part, std::int64_t whole, int digits = Percent{}.digits);

/// Rows of typed cells under named columns.
/// Invariant, checked by add_row: every row has one cell per column.
/// Example:
///   Table table({{"pack", "N"}, {"page_bytes", "page", "bytes"}});
///   table.add_row({std::int64_t{1}, std::int64_t{2146304}});
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Pre: one cell per column.
  void add_row(std::vector<Cell> cells);
  /// A last row of sums, set apart; for people only, programs sum for themselves. Pre: one cell per column.
  void set_footer(std::vector<Cell> cells);
  /// Points the reader to a row: "*" before it, bold in Markdown, coloured in colour. Pre: the row exists.
  void mark_row(std::size_t row);

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::vector<Cell>>& rows() const { return rows_; }
  const std::optional<std::vector<Cell>>& footer() const { return footer_; }
  bool has_marks() const { return !marked_rows_.empty(); }
  bool is_marked(std::size_t row) const { return marked_rows_.contains(row); }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
  std::optional<std::vector<Cell>> footer_;
  std::set<std::size_t> marked_rows_;
};

/// A cell as people read it. Source of the number formats: report/human.h.
std::string human_cell(const Cell& cell);
/// A cell as programs read it: shortest text that reads back as the same number; empty for nothing, nan and inf.
std::string raw_cell(const Cell& cell);

/// The same as a value of JSON; null for nothing, nan and inf.
nlohmann::ordered_json json_cell(const Cell& cell);

/// A cell as a field of CSV, quoted as in RFC 4180 where that is needed. Text is printable, and begins with an
/// apostrophe where a spreadsheet would take it for a formula: "=", "@", and "+" or "-" before what is no number.
std::string csv_cell(const Cell& cell);

/// Aligned text: headings of one or two lines, a line of dashes, the rows; lines end without spaces. A table wider than
/// style.width is folded: the columns that fit, then the others below it, each part behind the first column.
std::string render_text(const Table& table, const Style& style = {});
/// Columns of a terminal that the table takes where it is not folded.
std::int64_t text_width(const Table& table);
/// A GitHub table; title and subtitle make one heading.
std::string render_markdown(const Table& table);
/// A header line of column names, then one line a row. Quoting as in RFC 4180; lines end in a line feed alone, as Unix
/// tools expect.
std::string render_csv(const Table& table);
/// An array with one object a row, keys = column names in column order; null for nothing, nan and inf.
nlohmann::ordered_json to_json(const Table& table);

}  // namespace hybridkv
