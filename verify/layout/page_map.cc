#include "verify/layout/page_map.h"

#include <algorithm>
#include <utility>

#include "layout/for_each_run.h"

namespace hybridkv {

PageMap::PageMap(const CachePlan& plan, std::span<const BoundView> views, std::int64_t table, LaneId lane,
                 std::int64_t piece)
    : owners_(plan.lanes[lane.index()].bytes / plan.groups[static_cast<std::size_t>(table)].entries_per_id, nobody) {
  const std::int64_t front = plan.lanes[lane.index()].offset;
  expects(std::in_range<std::int32_t>(views.size()), "a page map counts views in 32 bits");
  for (std::size_t i = 0; i < views.size(); ++i) {
    const BoundView& view = views[i];
    if (view.table != table || !view.reaches(lane) || view.view.piece != piece || view.foreign) continue;
    for_each_run(view.page_bytes(lane, 0), [&](std::int64_t first, std::int64_t bytes) {
      std::fill_n(owners_.begin() + (first - front), bytes, static_cast<std::int32_t>(i));
    });
  }
}

}  // namespace hybridkv
