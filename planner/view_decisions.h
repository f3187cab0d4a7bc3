#pragma once

#include <span>

#include "planner/cache_plan.h"
#include "planner/derivation.h"

namespace hybridkv {

/// Writes down why the views of each spec have their shape, strides and offset: every extent and stride of the first
/// page, and how far apart the layers of a pack begin. The other pages of a spec are laid out alike in other pools.
/// Pre: specs, groups, pools and num_blocks are set, `views` are those of make_views. Source: vLLM PR 35703.
void derive_views(const CachePlan& plan, std::span<const ViewPlan> views, Derivation& derivation);

}  // namespace hybridkv
