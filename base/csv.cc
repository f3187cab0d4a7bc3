#include "base/csv.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/input_file.h"
#include "base/printable.h"
#include "base/read_real.h"
#include "base/suggest.h"

namespace hybridkv {

CsvReader::CsvReader(LineReader lines, std::string name) : lines_(std::move(lines)), name_(std::move(name)) {
  const auto line = lines_.next();
  if (!line) throw InputError(fmt::format("{}: is empty; its first line names the columns", name_));
  split(*line);
  columns_ = values_;
  for (std::size_t i = 0; i < columns_.size(); ++i) places_.emplace(columns_[i], i);
}

void CsvReader::split(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  values_.assign(1, "");
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      // Two of them inside quotes are one.
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') values_.back() += line[++i];
      else quoted = !quoted;
    } else if (c == ',' && !quoted) {
      values_.emplace_back();
    } else {
      values_.back() += c;
    }
  }
  if (quoted)
    throw InputError(fmt::format("{}:{}: a quoted value does not end on its line", name_, lines_.line_number()));
}

bool CsvReader::next() {
  while (const auto line = lines_.next()) {
    if (line->empty() || *line == "\r") continue;
    split(*line);
    if (values_.size() != columns_.size())
      throw InputError(fmt::format("{}:{}: has {} values, the first line names {} columns", name_,
                                   lines_.line_number(), values_.size(), columns_.size()));
    return true;
  }
  return false;
}

bool CsvReader::has(std::string_view column) const { return places_.contains(std::string(column)); }

const std::string& CsvReader::text(std::string_view column) const {
  const auto found = places_.find(std::string(column));
  if (found == places_.end())
    throw InputError(fmt::format("{}:1: there is no column {}{}", name_, column,
                                 suggestion(std::string(column), columns_, "it has:")));
  return values_[found->second];
}

double CsvReader::number(std::string_view column, double otherwise) const {
  const std::string& value = text(column);
  if (value.empty()) return otherwise;
  double number = 0;
  const auto [end, error] = read_real(value, number);
  if (error != std::errc{} || end != value.data() + value.size() || !std::isfinite(number))
    refuse(column, fmt::format("must be a number, is \"{}\"", printable(value)));
  return number;
}

std::int64_t CsvReader::whole(std::string_view column, std::int64_t otherwise) const {
  const double value = number(column, static_cast<double>(otherwise));
  constexpr double most = 9e15;
  if (value != std::floor(value) || std::abs(value) > most)
    refuse(column, fmt::format("must be a whole number, is \"{}\"", printable(text(column))));
  return static_cast<std::int64_t>(value);
}

void CsvReader::refuse(std::string_view column, const std::string& problem) const {
  throw InputError(fmt::format("{}:{}: {} {}", name_, lines_.line_number(), column, problem));
}

CsvReader open_csv(const std::string& path) { return {LineReader(open_bytes(path)), input_name(path)}; }

}  // namespace hybridkv
