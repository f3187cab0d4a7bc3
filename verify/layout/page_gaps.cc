#include "verify/layout/page_gaps.h"

#include <algorithm>

#include "layout/for_each_run.h"

namespace hybridkv {

std::vector<PageGap> page_gaps(const CachePlan& plan, std::span<const BoundView> views, std::int64_t table, LaneId lane,
                               std::int64_t piece) {
  const LanePlan& of = plan.lanes[lane.index()];
  std::vector<PageGap> covered;
  for (const BoundView& view : views) {
    if (view.table != table || !view.reaches(lane) || view.view.piece != piece || view.foreign) continue;
    for_each_run(view.page_bytes(lane, 0), [&](std::int64_t first, std::int64_t bytes) {
      covered.push_back({first - of.offset, bytes});
    });
  }
  std::sort(covered.begin(), covered.end(), [](const PageGap& a, const PageGap& b) { return a.first < b.first; });
  std::vector<PageGap> gaps;
  std::int64_t end = 0;  // of what was seen so far
  const auto add_before = [&](std::int64_t next) {
    if (next > end) gaps.push_back({end, next - end});
  };
  for (const PageGap& stretch : covered) {
    add_before(stretch.first);
    end = std::max(end, stretch.first + stretch.bytes);
  }
  add_before(of.bytes / plan.groups[static_cast<std::size_t>(table)].entries_per_id);
  return gaps;
}

}  // namespace hybridkv
