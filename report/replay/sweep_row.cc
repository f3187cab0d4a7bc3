#include "report/replay/sweep_row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/add_once.h"
#include "base/error.h"
#include "report/human.h"
#include "report/json_text.h"
#include "report/replay/replay_text.h"
#include "report/replay/times_columns.h"

namespace hybridkv {

namespace {

constexpr std::array<std::string_view, 4> first_columns{"sweep", "points", "point", "status"};
constexpr std::string_view csv_start = "sweep,points,point,status,";
constexpr std::size_t id_digits = 16;

/// FNV-1a, 64 bits: not against malice, against mixing up files.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

std::string json_string(const std::string& text) {
  return printable_json(nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string json_value(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return json_string(*text);
  std::string number = raw_cell(cell);
  return number.empty() ? "null" : number;
}

using PointField = Field<SweepPoint>;

/// A number of the replay: of every index, or of blocks alone.
template <class Getter>
PointField of_all(const char* name, Getter getter) {
  return {{name}, where(&SweepPoint::stats, [=](const SweepPoint& point) {
            return std::invoke(getter, counts_of(*point.stats));
          })};
}
template <class Getter>
PointField of_blocks(const char* name, Getter getter) {
  return {{name}, where(&SweepPoint::blocks, [=](const SweepPoint& point) {
            return std::invoke(getter, *point.blocks());
          })};
}

std::vector<PointField> replay_fields() {
  return {of_all("requests", &ReplayCounts::requests),
          of_all("prompt_tokens", &ReplayCounts::prompt_tokens),
          of_all("hit_tokens", &ReplayCounts::hit_tokens),
          of_all("hit_rate", as<Real>(&ReplayCounts::hit_rate)),
          of_all("requests_with_hit", &ReplayCounts::requests_with_hit),
          of_all("checkpoints_made", &ReplayCounts::checkpoints_made),
          of_all("checkpoints_used", &ReplayCounts::checkpoints_used),
          of_all("checkpoints_evicted", &ReplayCounts::checkpoints_evicted),
          of_blocks("evictions", via(&SimulationStats::pool, &BlockCounts::evictions)),
          of_blocks("max_held_blocks", &SimulationStats::max_held_blocks),
          of_blocks("max_held_state_blocks", &SimulationStats::max_held_state_blocks),
          of_blocks("max_running", &SimulationStats::max_running),
          of_all("too_long", &ReplayCounts::too_long),
          of_blocks("cut_outputs", &SimulationStats::cut_outputs),
          of_all("refused", &ReplayCounts::refused),
          of_all("stalled", &ReplayCounts::stalled),
          of_blocks("preemptions", &SimulationStats::preemptions),
          of_blocks("reprefilled_tokens", &SimulationStats::reprefilled_tokens),
          of_blocks("seconds", as<Real>(&SimulationStats::seconds)),
          of_all("taken_prompt_tokens", &ReplayCounts::taken_prompt_tokens),
          {{"overloaded"}, &SweepPoint::overloaded},
          {{"why_no_hits"}, [](const SweepPoint& point) {
             const std::string why = point.blocks() ? why_no_hits(*point.blocks(), point.longest_repeat) : "";
             return why.empty() ? Cell() : Cell(why);
           }}};
}

/// Times by a clock, named as in `simulate --format csv`, and whose clock it is.
std::vector<PointField> times_fields() {
  std::vector<PointField> fields;
  for (const TimesColumn& column : times_columns)
    fields.push_back({{column.name}, where(&SweepPoint::times, [of = column.of](const SweepPoint& point) {
                        return Real{of(*point.times), 6};
                      })});
  fields.push_back({{"gpus"}, where(&SweepPoint::timed, [](const SweepPoint& point) { return point.timed->gpus(); })});
  fields.push_back({{"clock"}, where(&SweepPoint::timed, [](const SweepPoint& point) {
                      return clock_label(point.timed->served);
                    })});
  return fields;
}

/// Each code once, in the order of the first of its warnings.
Cell warning_codes(const SweepPoint& point) {
  if (!point.plan) return {};
  std::vector<std::string_view> codes;
  for (const Warning& warning : point.plan->warnings)
    add_once(codes, warning.code);
  return fmt::format("{}", fmt::join(codes, " "));
}

/// Takes a whole number and what must follow it off the front of a text.
std::optional<std::int64_t> take_number(std::string_view& text, std::string_view then) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.starts_with(then)) return std::nullopt;
  text.remove_prefix(then.size());
  return value;
}

Cell axis_cell(const std::string& text, ValueType type) {
  if (text.empty()) return std::monostate();  // the default
  if (type == ValueType::flag && (text == "true" || text == "false")) return text == "true";
  if (type == ValueType::integer || type == ValueType::integers) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) return number;
  }
  return text;
}

/// "passed", "not proven", "fault", "not asked" (of this pack); empty where nothing was verified.
Cell verification_cell(const SweepPoint& point) {
  if (point.not_asked) return std::string("not asked");
  return point.verification ? Cell(std::string(to_string(*point.verification))) : Cell();
}

/// What stands behind the values of the axes.
std::vector<PointField> point_fields(const SweepRowSpec& spec) {
  std::vector<PointField> fields{{{"reason"}, where([](const SweepPoint& point) { return !point.reason.empty(); },
                                                    &SweepPoint::reason)}};
  auto of_plan = plan_fields();
  of_plan.push_back(figure_field({"unallocated_bytes"}));
  for (auto& field : of_plan)
    fields.push_back({field.column, [cell = std::move(field.cell)](const SweepPoint& point) {
                        return point.plan ? cell({*point.plan, point.plan->capacity.front()}) : Cell();
                      }});
  fields.push_back({{"warnings"}, warning_codes});
  if (spec.verified) fields.push_back({{"verification"}, verification_cell});
  if (!spec.simulated) return fields;
  const auto replay = replay_fields();
  fields.insert(fields.end(), replay.begin(), replay.end());
  if (!spec.timed) return fields;
  const auto times = times_fields();
  fields.insert(fields.end(), times.begin(), times.end());
  return fields;
}

}  // namespace

std::string to_string(const PointCounts& counts) {
  std::string text = fmt::format("{}: {} ok, {} impossible", human_plural(counts.total(), "point"),
                                 human_count(counts.ok), human_count(counts.impossible));
  if (counts.fault > 0) text += fmt::format(", {} with a fault", human_count(counts.fault));
  return text;
}

AxisCells::AxisCells(const ScenarioSweep& sweep) : sweep_(sweep) {
  for (const SweepAxis& axis : sweep.axes()) {
    cells_.emplace_back();
    for (const std::string& value : axis.values) cells_.back().push_back(axis_cell(value, axis.type));
  }
}

std::vector<Cell> AxisCells::at(std::int64_t point) const {
  std::vector<Cell> cells;
  const std::vector<std::size_t> values = sweep_.values_at(point);
  for (std::size_t axis = 0; axis < values.size(); ++axis) cells.push_back(cells_[axis][values[axis]]);
  return cells;
}

SweepRows::SweepRows(SweepRowSpec spec) : spec_(std::move(spec)), fields_(point_fields(spec_)) {
  for (const std::string& name : columns())
    keys_.push_back(fmt::format("{}{}:", keys_.empty() ? "{" : ",", json_string(name)));
  const std::string all = fmt::format("{} {} {} {}", to_string(spec_.format), spec_.num_points,
                                      fmt::join(columns(), ","), spec_.identity);
  sweep_id_ = fmt::format("{:0{}x}", hash_of(all), id_digits);
}

std::vector<std::string> SweepRows::columns() const {
  std::vector<std::string> names(first_columns.begin(), first_columns.end());
  names.insert(names.end(), spec_.axes.begin(), spec_.axes.end());
  for (const PointField& field : fields_) names.push_back(field.column.name);
  return names;
}

std::string SweepRows::heading() const {
  if (spec_.format == SweepFormat::jsonl) return {};
  std::string line;
  for (const std::string& name : columns()) line += (line.empty() ? "" : ",") + csv_cell(name);
  return line + "\n";
}

std::vector<Cell> SweepRows::cells(const SweepPoint& point, const std::vector<Cell>& axes) const {
  std::vector<Cell> cells{sweep_id_, spec_.num_points, point.point, std::string(to_string(point.status))};
  cells.reserve(keys_.size());
  cells.insert(cells.end(), axes.begin(), axes.end());
  for (const PointField& field : fields_) cells.push_back(field.cell(point));
  return cells;
}

std::string SweepRows::row(const SweepPoint& point, const std::vector<Cell>& axes) const {
  expects(axes.size() == spec_.axes.size(), "a point has one value per axis");
  std::string line;
  const std::vector<Cell> values = cells(point, axes);
  if (spec_.format == SweepFormat::csv) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) line += ',';
      line += csv_cell(values[i]);
    }
    return line + "\n";
  }
  for (std::size_t i = 0; i < values.size(); ++i) line.append(keys_[i]).append(json_value(values[i]));
  return line + "}\n";
}

std::optional<RowStart> parse_row_start(std::string_view line, SweepFormat format) {
  const bool json = format == SweepFormat::jsonl;
  const std::array<std::string_view, 4> before_values =
      json ? std::array<std::string_view, 4>{"{\"sweep\":\"", "\",\"points\":", ",\"point\":", ",\"status\":\""}
           : std::array<std::string_view, 4>{"", ",", ",", ","};
  RowStart start;
  if (!line.starts_with(before_values[0])) return std::nullopt;
  line.remove_prefix(before_values[0].size());
  start.sweep_id = line.substr(0, id_digits);
  line.remove_prefix(start.sweep_id.size());
  if (start.sweep_id.find_first_not_of("0123456789abcdef") != std::string::npos || !line.starts_with(before_values[1]))
    return std::nullopt;
  line.remove_prefix(before_values[1].size());
  const auto points = take_number(line, before_values[2]);
  const auto point = points ? take_number(line, before_values[3]) : std::nullopt;
  if (!point || *point >= *points) return std::nullopt;
  start.num_points = *points;
  start.point = *point;
  const std::string_view word = line.substr(0, line.find(json ? '"' : ','));
  const std::optional<PointStatus> status = parse_point_status(word);
  if (!status) return std::nullopt;
  start.status = *status;
  return start;
}

std::optional<SweepFormat> format_of_first_line(std::string_view line) {
  if (line.starts_with(csv_start)) return SweepFormat::csv;
  if (parse_row_start(line, SweepFormat::jsonl)) return SweepFormat::jsonl;
  return std::nullopt;
}

}  // namespace hybridkv
