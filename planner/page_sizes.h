#pragma once

#include "planner/cache_plan.h"
#include "planner/derivation.h"
#include "planner/engine_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// Fills in block, kernel block, unpadded page and padding of every spec, and the page that all share.
///
/// B follows from the largest state and the model's own attention (attention_block_size); drafts and MTP layers take the
/// B they find. P is the largest page. A page of attention that divides P grows to it: its block becomes as many times B
/// as its page goes into P, which is P // (N * a1). States and attention that does not divide are padded to P. Hidden
/// states take the largest divisor of B whose tokens fit P.
/// Throws SpecError for a block beyond largest_tokens, hidden states that exceed a page, and as kernel_block_size.
/// Pre: specs with everything that does not depend on the block. Source: vLLM HybridAttentionMambaModelConfig,
/// unify_kv_cache_spec_page_size (states: vLLM PR 45207), get_kv_cache_groups; packs: vLLM PR 35703.
/// Example: B = 16, a1 = 4,096 and 2,048: P = 65,536, and the second spec takes blocks of 32 tokens.
void size_pages(CachePlan& plan, const ModelSpec& model, const EngineSpec& engine, const LimitsSpec& limits,
                const DerivationLog& log);

}  // namespace hybridkv
