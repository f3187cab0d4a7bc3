#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/read_real.h"
#include "planner/engine_spec.h"
#include "report/human.h"
#include "report/text.h"

namespace hybridkv {

namespace {

template <class... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overload(Cases...) -> Overload<Cases...>;

std::string raw_real(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

std::vector<std::size_t> columns_for(Audience audience, const Table& table) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < table.columns().size(); ++i)
    if (table.columns()[i].audience == Audience::everyone || table.columns()[i].audience == audience)
      positions.push_back(i);
  return positions;
}

/// What the terminal shows, column by column, before it is aligned.
struct TextColumn {
  std::string title;
  std::string subtitle;
  Align align = Align::right;
  std::vector<std::string> cells;
  std::string footer;
  std::size_t width = 0;
};

TextColumn text_column(const Table& table, std::size_t position) {
  const Column& column = table.columns()[position];
  TextColumn text{printable(column.title), printable(column.subtitle), column.align, {}, {}, 0};
  for (const auto& row : table.rows()) text.cells.push_back(printable(human_cell(row[position])));
  if (table.footer()) text.footer = printable(human_cell((*table.footer())[position]));
  text.width = std::max({display_width(text.title), display_width(text.subtitle), display_width(text.footer)});
  for (const std::string& cell : text.cells) text.width = std::max(text.width, display_width(cell));
  return text;
}

std::vector<TextColumn> text_columns(const Table& table) {
  std::vector<TextColumn> columns;
  for (const std::size_t position : columns_for(Audience::people, table))
    columns.push_back(text_column(table, position));
  return columns;
}

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::string space(width - display_width(text), ' ');
  return align == Align::left ? text + space : space + text;
}

/// One line out of one text per column, two spaces apart, nothing after the last character.
template <class Text>
std::string text_line(const std::vector<TextColumn>& columns, Text text_of) {
  std::string line;
  for (const TextColumn& column : columns) {
    if (&column != &columns.front()) line += "  ";
    line += padded(text_of(column), column.width, column.align);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

/// Columns in parts that fit the width; every part begins with the first column, and has at least one more.
std::vector<std::vector<TextColumn>> folded(const std::vector<TextColumn>& columns, std::size_t width) {
  std::vector<std::vector<TextColumn>> parts;
  std::size_t used = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (parts.empty() || (used + 2 + columns[i].width > width && parts.back().size() > 1)) {
      parts.push_back({columns.front()});
      used = columns.front().width;
      if (i == 0) continue;
    }
    parts.back().push_back(columns[i]);
    used += 2 + columns[i].width;
  }
  return parts;
}

/// One part of a table, or all of it.
std::string part_text(const std::vector<TextColumn>& columns, const Table& table, const Style& style) {
  const bool subtitles =
      std::any_of(columns.begin(), columns.end(), [](const TextColumn& column) { return !column.subtitle.empty(); });
  const std::string margin = table.has_marks() ? "  " : "";
  std::string rule;
  for (const TextColumn& column : columns) rule += (rule.empty() ? "" : "  ") + std::string(column.width, '-');

  std::string text = margin + bold(text_line(columns, [](const TextColumn& c) { return c.title; }), style) + "\n";
  if (subtitles) text += margin + dim(text_line(columns, [](const TextColumn& c) { return c.subtitle; }), style) + "\n";
  text += margin + dim(rule, style) + "\n";
  for (std::size_t row = 0; row < table.rows().size(); ++row) {
    const std::string line = text_line(columns, [&](const TextColumn& c) { return c.cells[row]; });
    text += table.is_marked(row) ? green("* " + line, style) + "\n" : margin + line + "\n";
  }
  if (table.footer()) {
    text += margin + dim(rule, style) + "\n";
    text += margin + bold(text_line(columns, [](const TextColumn& c) { return c.footer; }), style) + "\n";
  }
  return text;
}

std::string markdown_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

/// Whether a spreadsheet would take the text for a formula, and run it.
bool looks_like_formula(std::string_view text) {
  const std::size_t start = text.find_first_not_of(' ');
  if (start == std::string_view::npos) return false;
  text.remove_prefix(start);
  for (const std::string_view sign : {"=", "@", "\xef\xbc\x9d", "\xef\xbc\xa0", "\xef\xbc\x8b", "\xef\xbc\x8d"})
    if (text.starts_with(sign)) return true;  // the last four are the wide forms of = @ + -
  if (text[0] != '+' && text[0] != '-') return false;
  double number = 0;  // "-5" and "+2.5e3" are what they look like
  const auto [end, error] = read_real(text.substr(1), number);
  return error != std::errc() || end != text.data() + text.size();
}

/// Text as a cell of CSV holds it: nothing in it drives a terminal or is run by a spreadsheet.
std::string csv_text(const std::string& text) {
  std::string shown = printable(text);
  return looks_like_formula(shown) ? "'" + shown : shown;
}

std::string quote_csv(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

bool is_any(const Length& length) { return length.tokens >= largest_tokens; }

}  // namespace

nlohmann::ordered_json json_cell(const Cell& cell) {
  const auto real = [](double value) {
    return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
  };
  return std::visit(Overload{[](std::monostate) { return nlohmann::ordered_json(nullptr); },
                             [](const ByteCount& bytes) { return nlohmann::ordered_json(bytes.value); },
                             [&](const Real& number) { return real(number.value); },
                             [&](const Percent& percent) { return real(percent.value); },
                             [](const Length& length) {
                               return is_any(length) ? nlohmann::ordered_json(nullptr)
                                                     : nlohmann::ordered_json(length.tokens);
                             },
                             [](const auto& plain) { return nlohmann::ordered_json(plain); }},
                    cell);
}

Cell percent_of(std::int64_t part, std::int64_t whole, int digits) {
  if (whole == 0) return std::monostate{};
  return Percent{100.0 * static_cast<double>(part) / static_cast<double>(whole), digits};
}

void Table::add_row(std::vector<Cell> cells) {
  expects(cells.size() == columns_.size(), "a row has one cell per column");
  rows_.push_back(std::move(cells));
}

void Table::set_footer(std::vector<Cell> cells) {
  expects(cells.size() == columns_.size(), "a footer has one cell per column");
  footer_ = std::move(cells);
}

void Table::mark_row(std::size_t row) {
  expects(row < rows_.size(), "a marked row exists");
  marked_rows_.insert(row);
}

std::string human_cell(const Cell& cell) {
  return std::visit(Overload{[](std::monostate) { return std::string(); },
                             [](bool flag) { return std::string(flag ? "yes" : "no"); },
                             [](std::int64_t count) { return human_count(count); },
                             [](const Real& number) { return human_real(number.value, number.digits); },
                             [](const ByteCount& bytes) { return human_bytes(bytes.value, Decimals::fixed); },
                             [](const Percent& percent) { return human_percent(percent.value, percent.digits); },
                             [](const Length& length) {
                               return is_any(length) ? std::string("any") : human_count(length.tokens);
                             },
                             [](const std::string& text) { return text; }},
                    cell);
}

std::string raw_cell(const Cell& cell) {
  return std::visit(Overload{[](std::monostate) { return std::string(); },
                             [](bool flag) { return std::string(flag ? "true" : "false"); },
                             [](std::int64_t count) { return std::to_string(count); },
                             [](const Real& number) { return raw_real(number.value); },
                             [](const ByteCount& bytes) { return std::to_string(bytes.value); },
                             [](const Percent& percent) { return raw_real(percent.value); },
                             [](const Length& length) {
                               return is_any(length) ? std::string() : std::to_string(length.tokens);
                             },
                             [](const std::string& text) { return text; }},
                    cell);
}

std::string csv_cell(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return quote_csv(csv_text(*text));
  return quote_csv(raw_cell(cell));
}

std::int64_t text_width(const Table& table) {
  const std::vector<TextColumn> columns = text_columns(table);
  std::size_t width = table.has_marks() ? 2 : 0;
  for (const TextColumn& column : columns) width += column.width + (&column == &columns.front() ? 0 : 2);
  return static_cast<std::int64_t>(width);
}

std::string render_text(const Table& table, const Style& style) {
  const std::vector<TextColumn> columns = text_columns(table);
  const std::size_t margin = table.has_marks() ? 2 : 0;
  const auto width = static_cast<std::size_t>(std::max(style.width, 20));
  std::string text;
  for (const std::vector<TextColumn>& part : folded(columns, width > margin ? width - margin : 0))
    text += (text.empty() ? "" : "\n") + part_text(part, table, style);
  return text;
}

std::string render_markdown(const Table& table) {
  const std::vector<std::size_t> positions = columns_for(Audience::people, table);
  std::vector<std::string> titles, rules;
  for (std::size_t position : positions) {
    const Column& column = table.columns()[position];
    const char* space = column.title.empty() || column.subtitle.empty() ? "" : " ";
    titles.push_back(escape_markdown(column.title + space + column.subtitle, true));
    rules.push_back(column.align == Align::left ? ":--" : "--:");
  }
  const auto line_of = [&](const std::vector<Cell>& cells, bool strong) {
    std::vector<std::string> texts;
    for (std::size_t position : positions) {
      std::string text = escape_markdown(human_cell(cells[position]), true);
      if (strong && !text.empty()) text = "**" + text + "**";
      texts.push_back(std::move(text));
    }
    return markdown_line(texts);
  };
  std::string text = markdown_line(titles) + markdown_line(rules);
  for (std::size_t row = 0; row < table.rows().size(); ++row)
    text += line_of(table.rows()[row], table.is_marked(row));
  if (table.footer()) text += line_of(*table.footer(), true);
  return text;
}

std::string render_csv(const Table& table) {
  const std::vector<std::size_t> positions = columns_for(Audience::programs, table);
  std::string text;
  const auto append_line = [&](auto cell_at) {
    for (std::size_t position : positions)
      text += (position == positions.front() ? "" : ",") + csv_cell(cell_at(position));
    text += "\n";
  };
  append_line([&](std::size_t position) -> Cell { return table.columns()[position].name; });
  for (const auto& row : table.rows()) append_line([&](std::size_t position) { return row[position]; });
  return text;
}

nlohmann::ordered_json to_json(const Table& table) {
  const std::vector<std::size_t> positions = columns_for(Audience::programs, table);
  auto rows = nlohmann::ordered_json::array();
  for (const auto& row : table.rows()) {
    auto object = nlohmann::ordered_json::object();
    for (std::size_t position : positions) object[table.columns()[position].name] = json_cell(row[position]);
    rows.push_back(std::move(object));
  }
  return rows;
}

}  // namespace hybridkv
