#include "report/plot/plot_times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ask/clock/served_clock.h"
#include "base/add_once.h"
#include "report/field.h"
#include "report/replay/times_text.h"

namespace hybridkv {

namespace {

using RateAt = std::size_t;  // position of a rate
using RunAtRate = ServedTimes LoadPoint::*;

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

/// A mean in seconds; nothing where the queue grows, as the mean then says how long the trace is.
double mean_of(const LoadCurve& curve, RateAt at, RunAtRate run, ServedDurations durations) {
  const ServedTimes& times = curve.points[at].*run;
  return times.overloaded() || (times.*durations).count() == 0 ? nothing : (times.*durations).mean();
}

std::string subtitle_of(const TimeCurves& values) {
  const TimedAnswer& timed = values.curves.front().timed;
  return fmt::format("{} on {} {}, {}", values.model, timed.gpus(), timed.served.gpu, values.curves.front().trace);
}

/// The clocks, each once, and who has no curve.
std::string notes_of(const TimeCurves& values) {
  std::vector<std::string> notes;
  for (const LoadCurve& curve : values.curves) {
    const std::string label = clock_label(curve.timed.served);
    add_once(notes, label);
  }
  for (const std::string& refused : values.refused) notes.push_back(refused);
  return fmt::format("{}.", fmt::join(notes, ". "));
}

/// 1, 2 and 5 times powers of ten from the one below `least` to the one above `most`. Pre: 0 < least <= most.
std::vector<double> round_numbers(double least, double most) {
  std::vector<double> ticks;
  for (int power = static_cast<int>(std::floor(std::log10(least))); ; ++power)
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double at = digit * std::pow(10.0, power);
      if (ticks.size() > 1 && at > most && ticks.back() >= most) return ticks;
      if (at <= least) ticks.clear();
      ticks.push_back(at);
    }
}

PlotAxis load_axis(const TimeCurves& values) {
  PlotAxis axis{.title = "load", .unit = "requests a second"};
  axis.logarithmic = true;
  const std::vector<LoadPoint>& points = values.curves.front().points;
  axis.ticks = round_numbers(points.front().offered, points.back().offered);
  // The axis ends just beyond the loads; only where no round number lies among them it is as long as two need.
  if (axis.ticks.size() > 3) axis.ticks = {axis.ticks.begin() + 1, axis.ticks.end() - 1};
  axis.least = std::min(axis.ticks.front(), 0.9 * points.front().offered);
  axis.most = std::max(axis.ticks.back(), 1.1 * points.back().offered);
  return axis;
}

/// A panel of latencies and the columns that it shows.
class LatencyPanel {
 public:
  LatencyPanel(const TimeCurves& values, const char* title, const char* column, ServedDurations durations, double limit,
               double ClockError::*error, const PlotAxis& axis)
      : values_(values), column_(column), durations_(durations), error_(error) {
    panel_ = {title, 0, "requests_per_second", load_axis(values), axis, {}};
    panel_.y.logarithmic = true;
    // Bands lie behind the lines.
    for (std::size_t i = 0; i < values.curves.size(); ++i) add_band(i);
    for (std::size_t i = 0; i < values.curves.size(); ++i) add(i, &LoadPoint::cached);
    add_uncached();
    if (limit < std::numeric_limits<double>::infinity()) add_limit(limit);
    if (least_ <= most_) panel_.y.ticks = round_numbers(least_ / axis.divisor, most_ / axis.divisor);
  }

  const PlotPanel& panel() const { return panel_; }
  const std::vector<Field<RateAt>>& fields() const { return fields_; }
  bool is_empty() const { return least_ > most_; }

 private:
  void see(double value) {
    if (std::isnan(value)) return;
    least_ = std::min(least_, value);
    most_ = std::max(most_, value);
  }

  /// Is there a value at any rate?
  bool has_values(const LoadCurve& curve, RunAtRate run) const {
    for (RateAt at = 0; at < curve.points.size(); ++at)
      if (!std::isnan(mean_of(curve, at, run, durations_))) return true;
    return false;
  }

  void add_band(std::size_t i) {
    const LoadCurve& curve = values_.curves[i];
    if (!has_values(curve, &LoadPoint::cached)) return;
    const double share = curve.timed.served.source.error().*error_ / 100;
    // By as much too slow or too fast: the edges are as many times away, as errors are measured.
    const auto edge = [&curve, durations = durations_](double factor) {
      return [&curve, durations, factor](RateAt at) {
        return Real{factor * mean_of(curve, at, &LoadPoint::cached, durations), 6};
      };
    };
    const std::string low = fmt::format("{}_low {}", column_, curve.name);
    const std::string width = fmt::format("{}_width {}", column_, curve.name);
    fields_.push_back({{low}, edge(1 / (1 + share))});
    fields_.push_back({{width}, edge(1 + share - 1 / (1 + share))});
    for (RateAt at = 0; at < curve.points.size(); ++at) {
      const double mean = mean_of(curve, at, &LoadPoint::cached, durations_);
      see(mean / (1 + share));
      see(mean * (1 + share));
    }
    panel_.series.push_back({"clock's error, " + curve.name, {low, width}, SeriesStyle::band, i, false});
  }

  void add(std::size_t i, RunAtRate run) {
    const LoadCurve& curve = values_.curves[i];
    if (!has_values(curve, run)) return;
    const bool cached = run == &LoadPoint::cached;
    const std::string column = fmt::format("{}{} {}", cached ? "" : "uncached_", column_, curve.name);
    fields_.push_back({{column}, [&curve, run, durations = durations_](RateAt at) {
                         return Real{mean_of(curve, at, run, durations), 6};
                       }});
    for (RateAt at = 0; at < curve.points.size(); ++at) see(mean_of(curve, at, run, durations_));
    panel_.series.push_back({cached ? curve.name : curve.name + ", no caching",
                             {column},
                             SeriesStyle::points,
                             cached ? i : values_.curves.size() + i});
  }

  /// Without caching the caches of one engine are nearly alike, so there is a line a clock.
  void add_uncached() {
    for (std::size_t i = 0; i < values_.curves.size(); ++i) {
      const auto first = std::find_if(values_.curves.begin(), values_.curves.end(), [&](const LoadCurve& other) {
        return other.timed.served.source == values_.curves[i].timed.served.source;
      });
      if (&*first == &values_.curves[i]) add(i, &LoadPoint::uncached);
    }
  }

  void add_limit(double limit) {
    const std::string column = fmt::format("{}_limit", column_);
    fields_.push_back({{column}, [limit](RateAt) { return Real{limit, 6}; }});
    see(limit);
    panel_.series.push_back({"limit", {column}, SeriesStyle::reference, 0});
  }

  const TimeCurves& values_;
  const char* column_;
  ServedDurations durations_;
  double ClockError::*error_;
  PlotPanel panel_;
  std::vector<Field<RateAt>> fields_;
  double least_ = std::numeric_limits<double>::infinity(), most_ = 0;
};

}  // namespace

Plot plot_latency(const TimeCurves& values) {
  const ServiceLimits& limits = values.curves.front().timed.limits;
  Plot plot{.name = std::string(to_string(TimePlotKind::latency)),
            .title = "Latency against load",
            .subtitle = subtitle_of(values),
            .caption = "Means; bands are the clock's median error. A curve ends where more requests come than are "
                       "served. " + notes_of(values)};
  std::vector<Field<RateAt>> fields{
      {{"rate"}, [&](RateAt at) { return Real{values.curves.front().points[at].rate, 6}; }},
      {{"requests_per_second"}, [&](RateAt at) { return Real{values.curves.front().points[at].offered, 6}; }}};
  const LatencyPanel panels[] = {
      {values, "First token (bands: median error of the clock; a curve ends where the queue grows)",
       "first_token_seconds", &ServedTimes::first_token, limits.first_token,
       &ClockError::first_token_median, {.title = "mean", .unit = "s"}},
      {values, "Each further token", "output_token_seconds", &ServedTimes::output_token, limits.output_token,
       &ClockError::output_token_median, {.title = "mean", .unit = "ms", .divisor = 1e-3}}};
  for (const LatencyPanel& panel : panels) {
    if (panel.is_empty()) continue;
    fields.insert(fields.end(), panel.fields().begin(), panel.fields().end());
    plot.panels.push_back(panel.panel());
  }
  plot.tables.push_back({"", table_of_positions(fields, values.curves.front().points.size())});
  return plot;
}

namespace {

/// Steps of one run of the trace, at every rate.
struct StepRun {
  std::string name;
  const LoadCurve* curve;
  RunAtRate run;

  double share(RateAt at, StepPart part) const {
    const StepParts& spent = (curve->points[at].*run).spent();
    const double whole = spent.total();
    return whole > 0 ? 100 * spent[part] / whole : 0;
  }
};

/// The parts that take most, as many as a stack has colours but one, by their largest share anywhere.
std::vector<StepPart> largest_parts(const std::vector<StepRun>& runs) {
  constexpr std::size_t most_parts = 7;
  constexpr double noticed = 1;  // percent
  std::vector<std::pair<double, StepPart>> parts;
  for (const StepPart part : all_step_parts) {
    double largest = 0;
    for (const StepRun& run : runs)
      for (RateAt at = 0; at < run.curve->points.size(); ++at) largest = std::max(largest, run.share(at, part));
    if (largest >= noticed) parts.emplace_back(largest, part);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<StepPart> largest;
  for (const auto& [share, part] : parts)
    if (largest.size() < most_parts) largest.push_back(part);
  return largest;
}

}  // namespace

Plot plot_step_time(const TimeCurves& values) {
  std::vector<StepRun> runs;
  for (const LoadCurve& curve : values.curves) runs.push_back({curve.name, &curve, &LoadPoint::cached});
  runs.push_back({values.curves.front().name + ", without prefix caching", &values.curves.front(),
                  &LoadPoint::uncached});
  const std::vector<StepPart> parts = largest_parts(runs);
  Plot plot{.name = std::string(to_string(TimePlotKind::step_time)),
            .title = "Where a step's time goes",
            .subtitle = subtitle_of(values),
            .caption = "Shares of the time of all steps, of the parts that take most. " + notes_of(values)};
  std::vector<Field<RateAt>> fields{
      {{"rate"}, [&](RateAt at) { return Real{values.curves.front().points[at].rate, 6}; }},
      {{"requests_per_second"}, [&](RateAt at) { return Real{values.curves.front().points[at].offered, 6}; }}};
  for (const StepRun& run : runs) {
    PlotPanel panel{run.name, 0, "requests_per_second", load_axis(values),
                    {.title = "time of all steps", .unit = "%", .least = 0, .most = 100}, {}};
    std::vector<std::string> columns;
    for (const StepPart part : parts) {
      columns.push_back(fmt::format("{}_percent {}", to_string(part), run.name));
      fields.push_back({{columns.back()}, [run, part](RateAt at) { return Percent{run.share(at, part), 2}; }});
    }
    columns.push_back("other_percent " + run.name);
    fields.push_back({{columns.back()}, [run, parts](RateAt at) {
                        double other = 100;
                        for (const StepPart part : parts) other -= run.share(at, part);
                        return Percent{std::max(0.0, other), 2};
                      }});
    // A stack's whole is drawn first, its parts over it, so the legend begins with what lies on top.
    for (std::size_t k = columns.size(); k-- > 0;)
      panel.series.push_back({k < parts.size() ? part_text(parts[k]) : "other",
                              {columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(k) + 1},
                              SeriesStyle::area, k});
    plot.panels.push_back(std::move(panel));
  }
  plot.tables.push_back({"", table_of_positions(fields, values.curves.front().points.size())});
  return plot;
}

}  // namespace hybridkv
