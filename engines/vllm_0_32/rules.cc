#include "engines/vllm_0_32/rules.h"

#include "engines/vllm/sources.h"

namespace hybridkv {

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
