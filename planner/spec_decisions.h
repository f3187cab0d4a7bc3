#pragma once

#include "planner/cache_plan.h"
#include "planner/derivation.h"
#include "planner/engine_spec.h"
#include "planner/layer_specs.h"

namespace hybridkv {

/// Writes down the numbers that a plan takes from the engine's settings as they are.
void derive_settings(const CachePlan& plan, const EngineSpec& engine, Derivation& derivation);

/// Writes down what a layer of this attention keeps for a token, on one rank. Pre: `spec` is made from `set`.
/// Source: vLLM FullAttentionSpec.page_size_bytes.
void derive_attention(const LayerSet& set, const EngineSpec& engine, const SpecPlan& spec, Derivation& derivation);

/// Writes down how many pages the layers of each spec fill, block, kernel block and page of each, how the pages fall into
/// groups and what a block id costs in all pools. Pre: specs, groups, pools, extras and num_blocks are set.
void derive_pages(const CachePlan& plan, Derivation& derivation);

}  // namespace hybridkv
