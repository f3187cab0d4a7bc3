#include "cli/sweep_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ask/simulate_request.h"
#include "ask/verify_request.h"
#include "base/error.h"
#include "planner/plan.h"
#include "simulator/plan_geometry.h"
#include "simulator/sweep.h"

namespace hybridkv {

/// A point on its way to a row.
struct SweepWorker::Point {
  std::int64_t number = 0;
  PointStatus status = PointStatus::ok;
  std::string reason;
  std::optional<CachePlan> plan;
  std::string verification;
  TraceSpec trace;
  std::optional<SimulationSpec> simulation;
  std::optional<SimulationStats> stats;

  /// An error with an excerpt of the file has more than one line; the first says it all.
  void refuse(const Error& error) {
    status = PointStatus::impossible;
    reason = error.what();
    reason.erase(std::min(reason.find('\n'), reason.size()));
  }

  /// Runs a step; what the point itself makes impossible becomes its reason.
  template <class Step>
  void attempt(Step step) {
    try {
      step();
    } catch (const ResourceError&) {
      throw;  // of this machine, not of the point
    } catch (const SpecError& error) {
      refuse(scenario_error(error));
    } catch (const InputError& error) {
      refuse(error);
    }
  }
};

namespace {

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

/// Points of one trace, which is read once for all of them.
struct TraceGroup {
  const TraceSpec* trace = nullptr;
  std::vector<SimulationSpec> simulations;       // each once
  std::vector<std::vector<std::size_t>> points;  // (simulation) that ask for it
};

bool same_question(const SimulationSpec& a, const SimulationSpec& b) {
  return a.geometry == b.geometry && a.driver == b.driver;
}

}  // namespace

std::vector<std::vector<Cell>> axis_cells(const ScenarioSweep& sweep) {
  std::vector<std::vector<Cell>> cells;
  for (const SweepAxis& axis : sweep.axes()) {
    cells.emplace_back();
    for (const std::string& value : axis.values) cells.back().push_back(axis_cell(value, axis.type));
  }
  return cells;
}

SweepWorker::SweepWorker(const ScenarioSweep& sweep, const SweepRows& rows,
                         const std::vector<std::vector<Cell>>& cells)
    : sweep_(sweep), rows_(rows), cells_(cells), reader_(sweep) {}

void SweepWorker::plan(Point& point, const Scenario& scenario) const {
  // Only verification touches views.
  const PlanDetail detail = rows_.spec().verified ? PlanDetail::full : PlanDetail::numbers;
  point.plan = make_plan(scenario.model, scenario.engine, scenario.limits, scenario.workspace, detail);
  if (!rows_.spec().simulated) return;
  point.trace = scenario.simulate.trace;
  const CacheGeometry geometry = with_settings(geometry_of(*point.plan, scenario.engine), scenario.simulate);
  validate(geometry);
  point.simulation = SimulationSpec{.geometry = geometry, .driver = scenario.simulate.driver, .on_record = {}};
}

void SweepWorker::verify(Point& point, const Scenario& scenario) const {
  const std::vector<std::int64_t>& packs = scenario.verify.pack_sizes;
  if (!packs.empty() && std::find(packs.begin(), packs.end(), point.plan->attention_pack_size) == packs.end()) {
    point.verification = "not asked";
    return;
  }
  const VerifyReport report = verify_plan(*point.plan, verify_spec(scenario));
  point.verification = report.passed() ? "passed" : report.first_unproven() ? "not proven" : "fault";
  if (point.verification != "fault") return;
  point.status = PointStatus::fault;
  const CheckResult* failure = report.first_failure();
  point.reason = failure ? fmt::format("{}: {}", failure->name, failure->message) : "a check did not run";
}

void SweepWorker::replay(std::vector<Point>& points) const {
  std::vector<TraceGroup> groups;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].simulation) continue;
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const TraceGroup& known) { return *known.trace == points[i].trace; });
    if (group == groups.end()) group = groups.insert(groups.end(), TraceGroup{&points[i].trace, {}, {}});
    const auto known = std::find_if(
        group->simulations.begin(), group->simulations.end(),
        [&](const SimulationSpec& simulation) { return same_question(simulation, *points[i].simulation); });
    const auto position = static_cast<std::size_t>(known - group->simulations.begin());
    if (known == group->simulations.end()) {
      group->simulations.push_back(*points[i].simulation);
      group->points.emplace_back();
    }
    group->points[position].push_back(i);
  }
  const auto run = [&](const TraceGroup& group, std::size_t begin, std::size_t end) {
    SweepSpec sweep{.threads = 1};
    sweep.simulations.assign(group.simulations.begin() + static_cast<std::ptrdiff_t>(begin),
                             group.simulations.begin() + static_cast<std::ptrdiff_t>(end));
    const SweepResult result = run_sweep(*open_trace(*group.trace), sweep);
    for (std::size_t i = begin; i < end; ++i)
      for (const std::size_t point : group.points[i]) points[point].stats = result.stats[i - begin];
  };
  for (const TraceGroup& group : groups) {
    try {
      run(group, 0, group.simulations.size());
    } catch (const SpecError&) {
      // One of them cannot be run: find out which.
      for (std::size_t i = 0; i < group.simulations.size(); ++i) {
        try {
          run(group, i, i + 1);
        } catch (const SpecError& error) {
          for (const std::size_t point : group.points[i]) points[point].refuse(scenario_error(error));
        }
      }
    }
  }
}

SweepPiece SweepWorker::work(const Shard& shard, std::int64_t begin, std::int64_t end) {
  std::vector<Point> points;
  for (std::int64_t index = begin; index < end; ++index) {
    Point& point = points.emplace_back();
    point.number = shard.point(index);
    point.attempt([&] {
      const Scenario& scenario = reader_.at(point.number);
      plan(point, scenario);
      if (rows_.spec().verified) verify(point, scenario);
    });
  }
  replay(points);
  SweepPiece piece;
  for (const Point& point : points) {
    SweepPoint row{.point = point.number, .status = point.status, .reason = point.reason, .axes = {},
                   .plan = point.plan ? &*point.plan : nullptr, .verification = point.verification,
                   .stats = point.stats ? &*point.stats : nullptr};
    const std::vector<std::size_t> values = sweep_.values_at(point.number);
    for (std::size_t axis = 0; axis < values.size(); ++axis) row.axes.push_back(cells_[axis][values[axis]]);
    piece.rows += rows_.row(row);
    piece.counts.add(point.status);
  }
  return piece;
}

}  // namespace hybridkv
