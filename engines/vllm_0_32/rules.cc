#include "engines/vllm_0_32/rules.h"

#include "base/error.h"
#include "engines/vllm/sources.h"
#include "planner/engine_spec.h"

namespace hybridkv {

void validate_vllm_0_32(const ModelSpec& model, const EngineSpec& engine) {
  validate_vllm_0_33(model, engine);
  // A group is known as the drafter's by the last layer of the model, which only an MTP layer is.
  // Source: vLLM 0.32 _annotate_eagle_groups.
  if (engine.draft)
    throw SpecError("engine.draft", "what this release finds with a draft model is not known; take engine.mtp_layers, "
                                    "or leave it out");
  if (engine.mtp_layers > 1)
    throw SpecError("engine.mtp_layers", "what this release finds with several MTP layers is not known; take 1");
}

std::string_view source_of_vllm_0_32(RuleOf rule) {
  switch (rule) {
    case RuleOf::tables: return "vLLM 0.32 get_kv_cache_groups";
    case RuleOf::allocation: return "vLLM 0.32 get_kv_cache_config_from_groups";
    case RuleOf::cache_order: return "vLLM 0.32 KVCacheLayout";
    case RuleOf::exported_states:
      return "vLLM 0.32 MambaSpec; what scans export: engine.backend_profile, engine.checkpoint_blocks";
    case RuleOf::prefixes: return "vLLM 0.32 HybridKVCacheCoordinator";
    default: return source_of_blocks(rule);
  }
}

}  // namespace hybridkv
