#pragma once

#include <vector>

#include "planner/arrangement.h"
#include "planner/derivation.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// Element type of K and V where they have no format: engine.kv_dtype, else that of the checkpoint for engines that
/// follow it, else the model's. Source: vLLM, kv_cache_dtype auto with a kv_cache_scheme or kv_cache_quant_algo.
DType kv_dtype_of(const ModelSpec& model, const EngineSpec& engine);

/// Specs with everything that does not depend on the block size: what one rank keeps of each kind of layer, bytes a
/// token or a state, pages. `derivation`: where to write down why, or nullptr. Throws SpecError for ranks that fit
/// neither heads nor channels, and as collect_layer_sets.
std::vector<SpecPlan> make_specs(const ModelSpec& model, const EngineSpec& engine, Derivation* derivation);

}  // namespace hybridkv
