#include "simulator/schedule/simulation_stats.h"

namespace hybridkv {

void TimeSeries::add(const SeriesPoint& point) {
  if (points_.size() == capacity_) {
    std::size_t kept = 0;
    stride_ *= 2;
    for (const SeriesPoint& old : points_)
      if (wants(old.step)) points_[kept++] = old;
    points_.resize(kept);
    if (!wants(point.step)) return;
  }
  points_.push_back(point);
}

}  // namespace hybridkv
