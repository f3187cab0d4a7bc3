#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ask/replay/sweep_point.h"
#include "base/named_values.h"
#include "report/plan/plan_table.h"
#include "report/table.h"
#include "scenarios/sweep_axes.h"

namespace hybridkv {

/// How the rows of a sweep are written.
enum class SweepFormat {
  jsonl,  ///< one JSON object a line
  csv,    ///< a line of column names, then one line a row, quoted as in RFC 4180
};

inline constexpr auto sweep_format_names = std::to_array<Named<SweepFormat>>(
    {{SweepFormat::jsonl, "jsonl"},
     {SweepFormat::csv, "csv"}});

constexpr std::string_view to_string(SweepFormat format) { return name_in(sweep_format_names, format); }
constexpr std::optional<SweepFormat> parse_sweep_format(std::string_view name) {
  return value_in(sweep_format_names, name);
}

/// "144 points: 96 ok, 48 impossible"; faults are told where there are any.
std::string to_string(const PointCounts& counts);

/// What a sweep was asked for, as far as its rows show it.
struct SweepRowSpec {
  std::vector<std::string> axes;  ///< their paths: "engine.tensor_parallel"
  bool verified = false;          ///< rows say what verification found
  bool simulated = false;         ///< rows hold what a replay found
  bool timed = false;             ///< rows hold times by a clock
  SweepFormat format = SweepFormat::jsonl;
  std::int64_t num_points = 0;    ///< of the whole sweep, all shards
  std::string identity;  ///< any text that two sweeps share exactly where they ask the same of the same program
};

/// The values of a sweep's axes as cells: numbers, flags, else text as written; empty for a default.
class AxisCells {
 public:
  /// The sweep must outlive this.
  explicit AxisCells(const ScenarioSweep& sweep);
  /// (axis) of one point.
  std::vector<Cell> at(std::int64_t point) const;

 private:
  const ScenarioSweep& sweep_;
  std::vector<std::vector<Cell>> cells_;  // (axis, value)
};

/// The rows of one sweep: the same columns in every row, those of the status first, then the axes, the plan (named as
/// in `plan --format csv`), the replay (named as in `simulate --format csv`). A number that a point does not have is
/// empty in CSV, null in JSON. Rows hold nothing of the machine or the time, so that the same sweep gives the same
/// bytes everywhere; each names its sweep, so that rows of two sweeps cannot be mixed unnoticed.
class SweepRows {
 public:
  explicit SweepRows(SweepRowSpec spec);

  /// 16 hexadecimal digits made of everything in the spec.
  const std::string& sweep_id() const { return sweep_id_; }
  const SweepRowSpec& spec() const { return spec_; }
  std::vector<std::string> columns() const;
  /// What stands before the first row: the names of the columns in CSV, nothing in JSON Lines.
  std::string heading() const;
  /// The line of one point. Pre: one value per axis.
  std::string row(const SweepPoint& point, const std::vector<Cell>& axes) const;
  /// The same, one cell a column.
  std::vector<Cell> cells(const SweepPoint& point, const std::vector<Cell>& axes) const;

 private:
  SweepRowSpec spec_;
  std::vector<Field<SweepPoint>> fields_;  // behind the axes
  std::vector<std::string> keys_;  // JSON Lines: what stands before the value of each column
  std::string sweep_id_;
};

/// How every row starts.
struct RowStart {
  std::string sweep_id;
  std::int64_t num_points = 0;
  std::int64_t point = 0;
  PointStatus status = PointStatus::ok;
  bool operator==(const RowStart&) const = default;
};

/// Reads the start of a row; nothing where the line is no row of a sweep.
std::optional<RowStart> parse_row_start(std::string_view line, SweepFormat format);

/// The format of the first line of a file of rows; nothing where it is none of both.
std::optional<SweepFormat> format_of_first_line(std::string_view line);

}  // namespace hybridkv
