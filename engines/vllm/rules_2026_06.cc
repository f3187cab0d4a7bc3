#include "engines/vllm/rules.h"

#include "engines/vllm/sources.h"

namespace hybridkv {

/// vLLM's main branch of June 2026 with PR 35703: HybridAttentionMambaModelConfig (blocks), get_kv_cache_groups
/// (groups, a pool a slot), max_memory_usage_bytes (ids of a request, one step in flight), HybridKVCacheCoordinator
/// (prefixes: every state at a boundary is kept).
const EngineRules rules_of_vllm_2026_06 = {.name = "vllm-2026-06",
                                           .title = "vLLM main of June 2026 with PR 35703",
                                           .source = source_of_blocks,
                                           .waits_for_blocks = true,
                                           .without_encoders = {},
                                           .reserves_encoder_batch = true};

}  // namespace hybridkv
