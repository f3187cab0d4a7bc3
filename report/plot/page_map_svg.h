#pragma once

#include <string>
#include <vector>

#include "ask/plot/plot_values.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// The page map of a plan: one page of pool 0 as each kind of group sees it, drawn to scale with kernel blocks, layers,
/// K and V, state tensors, padding, byte offsets and the strides of the views; where the last pack is short, its page
/// too.
///
/// Everything comes from its page_strips (ask/plot/page_strip.h), so from the plan's views. A page of several kernel
/// blocks is drawn whole and its first kernel block below it, enlarged. Parts too narrow to be seen are widened to a
/// few pixels, get a dashed edge, and the row says so. Rectangles of whole pages have class "part" and carry
/// data-group, data-pool, data-begin, data-end (bytes in the page), data-tensor, and where they apply data-layer,
/// data-half, data-kernel-block; those of an enlarged kernel block have class "detail" and the same data. Pre: the set
/// holds the plan, the strips are its; width >= 200 pixels.
std::string page_map_svg(const PlanSet& set, const CachePlan& plan, const std::vector<PageStrip>& strips, int width);

}  // namespace hybridkv
