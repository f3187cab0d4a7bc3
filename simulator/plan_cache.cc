#include "simulator/plan_cache.h"

#include <fmt/format.h>

#include "simulator/blocks/plan_geometry.h"
#include "simulator/snapshots/plan_snapshots.h"
#include "simulator/tree/plan_tree.h"

namespace hybridkv {

AnyCache block_cache_of(const CachePlan& plan, const ModelSpec&, const EngineSpec& engine) {
  CacheGeometry geometry = geometry_of(plan, engine);
  geometry.name = fmt::format("N = {}", plan.attention_pack_size);
  return geometry;
}

AnyCache tree_cache_of(const CachePlan& plan, const ModelSpec& model, const EngineSpec& engine) {
  return TreeCache{plan.rules, std::string(plan.rules->title), tree_settings_of(plan, model, engine), {},
                   {plan.tree_pools->token_bytes, plan.tree_pools->state_slot_bytes}};
}

AnyCache snapshot_cache_of(const CachePlan& plan, const ModelSpec&, const EngineSpec&) {
  return SnapshotCache{plan.rules, std::string(plan.rules->title), snapshot_settings_of(plan), {},
                       {plan.arenas[0].bytes_per_id, plan.arenas[1].bytes_per_id}};
}

AnyCache slot_cache_of(const CachePlan& plan, const ModelSpec&, const EngineSpec&) {
  return SlotCache{plan.rules, std::string(plan.rules->title), slot_settings_of(plan), {}};
}

}  // namespace hybridkv
