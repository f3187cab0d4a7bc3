#include "engines/vllm/rules_0_33.h"

#include <algorithm>

#include "base/error.h"
#include "engines/vllm/sources.h"
#include "planner/engine_spec.h"
#include "planner/model_spec.h"
#include "planner/replay_rows.h"

namespace hybridkv {

namespace {

/// Without the hybrid manager the layers have to become one kind, which states beside attention never do.
/// Source: vLLM 0.33 unify_hybrid_kv_cache_specs.
void validate_one_kind(const ModelSpec& model, const EngineSpec& engine) {
  if (engine.hybrid_manager) return;
  const auto has = [&](auto member) {
    return std::any_of(model.layers.begin(), model.layers.end(),
                       [&](const LayerSpec& layer) { return (layer.*member).has_value(); });
  };
  if (has(&LayerSpec::attention) && has(&LayerSpec::recurrent))
    throw SpecError("engine.hybrid_manager",
                    "false: the engine does not start, as states beside attention are no one kind; leave it out");
}

}  // namespace

void validate_vllm_0_33(const ModelSpec& model, const EngineSpec& engine) {
  validate_one_kind(model, engine);
  validate_replay(model, engine);
  if (engine.own[state_key::enable_mamba_cache_stochastic_rounding] && engine.ssm_dtype != DType::fp16)
    throw SpecError("engine.enable_mamba_cache_stochastic_rounding",
                    "rounds states of fp16 alone; set engine.ssm_dtype: fp16, or leave it out");
}

std::string_view source_of_vllm_0_33(RuleOf rule) {
  return rule == RuleOf::prefixes ? "vLLM 0.33 HybridKVCacheCoordinator" : source_of_blocks(rule);
}

}  // namespace hybridkv
