#include "engines/vllm/sources.h"

#include "engines/shared_sources.h"

namespace hybridkv {

std::string_view source_of_blocks(RuleOf rule) {
  switch (rule) {
    case RuleOf::attention_bytes: return "vLLM FullAttentionSpec.page_size_bytes";
    case RuleOf::blocks: return "vLLM HybridAttentionMambaModelConfig";
    case RuleOf::block_size: return "vLLM HybridAttentionMambaModelConfig; packs: vLLM PR 35703";
    case RuleOf::grown_blocks: return "vLLM unify_kv_cache_spec_page_size; states: vLLM PR 45207";
    case RuleOf::packs: return "vLLM PR 35703";
    case RuleOf::groups: return "vLLM get_kv_cache_groups";
    case RuleOf::tables: return "vLLM 0.33 get_kv_cache_groups";
    case RuleOf::allocation: return "vLLM 0.33 get_kv_cache_config";
    case RuleOf::cache_order: return "vLLM 0.33 KVCacheLayout";
    case RuleOf::state_shape: return "vLLM MambaStateShapeCalculator";
    case RuleOf::state_places: return "vLLM MambaSpec";
    case RuleOf::exported_states:
      return "vLLM 0.33 MambaSpec; what scans export: engine.backend_profile, engine.checkpoint_blocks";
    case RuleOf::ring: return "vLLM 0.33 CircularBufferSpec";
    case RuleOf::ring_tokens:
      return "vLLM 0.33 CircularBufferSpec; the rounding from sizes 4 and 8 with s = 0, 1 and 3";
    case RuleOf::lookahead: return "vLLM 0.33, lookahead hashes";
    case RuleOf::capacity: return "vLLM max_memory_usage_bytes, get_max_concurrency_for_kv_cache_config";
    case RuleOf::prefixes: return "vLLM HybridKVCacheCoordinator";
    case RuleOf::dual_pool: return "dual pool, modelled; ratio: SGLang --mamba-full-memory-ratio";
    case RuleOf::own_pools: return "dual pool, modelled";
    case RuleOf::compact_slots: return "compact slots, read; ratio: SGLang --mamba-full-memory-ratio";
    case RuleOf::two_level: return "Jenga, SOSP 2025, read";
    default: return shared_source(rule);
  }
}

}  // namespace hybridkv
