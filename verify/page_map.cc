#include "verify/page_map.h"

#include <algorithm>

#include "layout/for_each_run.h"

namespace hybridkv {

PageMap::PageMap(const CachePlan& plan, std::span<const BoundView> views, std::int64_t group, std::int64_t pool)
    : owners_(plan.page_bytes, nobody) {
  expects(views.size() < 32768, "a page map counts views in 16 bits");
  for (std::size_t i = 0; i < views.size(); ++i) {
    const BoundView& view = views[i];
    if (view.group != group || view.view.pool != pool || view.foreign) continue;
    const std::int64_t element = view.element_bytes();
    for_each_run(view.page_layout(0), [&](std::int64_t offset, std::int64_t count) {
      std::fill_n(owners_.begin() + offset * element + view.byte_shift, count * element, static_cast<std::int16_t>(i));
    });
  }
}

}  // namespace hybridkv
