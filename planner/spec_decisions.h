#pragma once

#include "planner/arrangement.h"
#include "planner/derivation.h"
#include "planner/engine_spec.h"
#include "planner/layer_specs.h"

namespace hybridkv {

/// Writes down the numbers that a plan takes from the engine's settings as they are.
void derive_settings(const EngineSpec& engine, Derivation& derivation);

/// Writes down what a layer of this attention keeps for a token, on one rank. Pre: `spec` is made from `set`.
/// Source: vLLM FullAttentionSpec.page_size_bytes.
void derive_attention(const LayerSet& set, const EngineSpec& engine, const SpecPlan& spec, Derivation& derivation);

/// Writes down how many tokens a ring holds. Pre: `spec` is one.
void derive_ring(const ModelSpec& model, const EngineSpec& engine, const SpecPlan& spec, Derivation& derivation);

/// Writes down how many pages the layers of each spec fill, block, kernel block and page of each, how the pages fall
/// into groups and what an id costs in all lanes of its arena.
void derive_pages(const Arrangement& arrangement, Derivation& derivation);

}  // namespace hybridkv
