#pragma once

#include "planner/cache_plan.h"
#include "planner/model_spec.h"
#include "simulator/tree/tree_settings.h"

namespace hybridkv {

/// The pools and the tree of a plan with tree pools, as requests are replayed through them.
/// Throws SpecError("engine.cache_mode") for a plan without a tree, and for chunks below a page. Pre: tree pools.
/// Example: Qwen3.5-397B at TP2 and 40 GiB: 1,477,030 token slots, 210 state slots, grids of 64 and 256 tokens.
TreeSettings tree_settings_of(const CachePlan& plan, const ModelSpec& model, const EngineSpec& engine);

}  // namespace hybridkv
