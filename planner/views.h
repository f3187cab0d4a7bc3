#pragma once

#include <vector>

#include "planner/cache_plan.h"

namespace hybridkv {

/// Every tensor of every layer as shape, strides and offset, group by group and lane by lane.
/// Attention: kv_layouts of its pack; state: one strided tensor each, conv at byte 0 of the page, the step of its block
/// axis the page; a state in several pages: one view a tensor and page, (block, element) of its elements in order.
/// Throws SpecError where a page does not hold a whole number of elements, and as kv_layouts.
/// Source: vLLM PR 35703; other strategies modelled.
std::vector<ViewPlan> make_views(const Arrangement& arrangement);

/// Throws as make_views does, without making any view.
void check_views(const Arrangement& arrangement);

}  // namespace hybridkv
