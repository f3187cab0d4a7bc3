#pragma once

#include "planner/cache_plan.h"
#include "planner/model_spec.h"
#include "simulator/cache_replay.h"

namespace hybridkv {

// The cache of a plan, by each index: what an engine says of its replays is one of these functions or of its own. They
// throw SpecError for what cannot be replayed.

/// Pools of blocks, under the rules that its engine has for them. Its name says the pack.
AnyCache block_cache_of(const CachePlan& plan, const ModelSpec& model, const EngineSpec& engine);
/// A dual pool with a radix tree; its name is that of the engine. Pre: the plan has tree pools.
AnyCache tree_cache_of(const CachePlan& plan, const ModelSpec& model, const EngineSpec& engine);
/// Two pools under a tree with snapshots; its name is that of the engine. Pre: the plan has pool groups.
AnyCache snapshot_cache_of(const CachePlan& plan, const ModelSpec& model, const EngineSpec& engine);
/// The slots of a server; its name is that of the engine. Pre: the plan has rows by sequence.
AnyCache slot_cache_of(const CachePlan& plan, const ModelSpec& model, const EngineSpec& engine);

}  // namespace hybridkv
