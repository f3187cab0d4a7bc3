#pragma once

#include "planner/engine_spec.h"
#include "planner/tree_pools.h"

namespace hybridkv {

/// Refuses a host tier without a radix tree, or with sizes that are none, and its settings without it. Throws SpecError
/// with the key.
void validate_tree_host(const EngineSpec& engine);

/// Slots of the host tier behind these pools; none where the engine has no such tier. Throws
/// SpecError("engine.hicache_ratio" or "engine.hicache_size") where the host has no more tokens than the device, as the
/// engine does. Source: SGLang, read: HostKVCache and MambaPoolHost, each pool by the same ratio or size.
/// Example: 1,000 tokens and 10 states by 2.0: 2,001 and 21, a page more than the product.
TreeHost tree_host_slots(const EngineSpec& engine, const TreePools& pools);

}  // namespace hybridkv
