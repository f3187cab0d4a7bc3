#pragma once

#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// Every tensor of every layer as shape, strides and offset, group by group and pool by pool.
/// Attention: kv_layouts of its pack; state: one strided tensor each, page stride P / element size, conv at byte 0 of
/// the page. Throws SpecError where a page does not hold a whole number of elements, and as kv_layouts.
/// Pre: specs, groups, pools and num_blocks are set. Source: vLLM PR 35703.
std::vector<ViewPlan> make_views(const CachePlan& plan);

/// Throws as make_views does, without making any view.
void check_views(const CachePlan& plan);

}  // namespace hybridkv
