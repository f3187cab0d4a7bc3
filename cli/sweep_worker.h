#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/sweep_file.h"
#include "report/sweep_row.h"
#include "scenarios/sweep_axes.h"

namespace hybridkv {

/// The rows of some points.
struct SweepPiece {
  std::string rows;
  PointCounts counts;
};

/// Values of every axis as cells: numbers, flags, else text as written.
std::vector<std::vector<Cell>> axis_cells(const ScenarioSweep& sweep);

/// Plans points of a sweep, verifies and replays them where their rows say so, and writes the rows. One per thread.
class SweepWorker {
 public:
  /// All must outlive the worker.
  SweepWorker(const ScenarioSweep& sweep, const SweepRows& rows, const std::vector<std::vector<Cell>>& cells);

  /// The points of a shard from one position to another one (excluded). A point that cannot be planned, verified or
  /// replayed is a row with the reason. Throws ResourceError where this machine is too small, InputError where the
  /// trace cannot be read.
  SweepPiece work(const Shard& shard, std::int64_t begin, std::int64_t end);

 private:
  struct Point;
  void plan(Point& point, const Scenario& scenario) const;
  void verify(Point& point, const Scenario& scenario) const;
  void replay(std::vector<Point>& points) const;

  const ScenarioSweep& sweep_;
  const SweepRows& rows_;
  const std::vector<std::vector<Cell>>& cells_;
  SweepReader reader_;
};

}  // namespace hybridkv
