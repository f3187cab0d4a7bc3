#pragma once

#include <optional>

#include "planner/arrangement.h"
#include "planner/derivation.h"
#include "planner/group_split.h"
#include "planner/model_spec.h"
#include "planner/page_sizes.h"

namespace hybridkv {

/// Refuses what TensorRT-LLM does not have, or what of it is not planned. Throws SpecError with the key.
void validate_pool_groups(const ModelSpec& model, const EngineSpec& engine);

/// B and C: both tokens_per_block.
BlockSizes group_block_sizes(const EngineSpec& engine, const DerivationLog& log);

/// What its split depends on. `groups`: those of the arrangement, with the bytes of their pages.
GroupQuota group_quota(const Arrangement& arrangement, const ModelSpec& model, const EngineSpec& engine,
                       const LimitsSpec& limits);

}  // namespace hybridkv
