#pragma once

#include <cstdint>

#include "planner/cache_plan.h"

namespace hybridkv {

/// Does the engine drop the last matched block for its drafter (MTP layers or a draft model)?
bool drafter_drops_block(const EngineSpec& engine);

/// Tokens behind a prefix that its key covers too, so that a drafter finds what it read: one for each of several
/// modules, else one; 0 where keys cover the prefix alone. Source: vLLM 0.33, lookahead hashes.
std::int64_t tokens_looked_ahead(const EngineSpec& engine);

/// Tokens that the second copy of an n-token prompt hits, the first computed in one chunk.
/// Mode none with recurrent layers: 0. Align: floor(n/B)*B, with a drafter max(0, floor(n/B)-1)*B, 0 where B divides
/// n. All, or attention alone: floor((n-1)/B)*B, with a drafter one block less. Source: vLLM HybridKVCacheCoordinator.
std::int64_t duplicate_hit_tokens(CacheMode mode, bool has_recurrent, std::int64_t block_tokens, bool drops_block,
                                  std::int64_t prompt_tokens);

/// How finely a prefix can be found again: at multiples of what every group can be resumed at.
PrefixPlan prefix_granularity(const Arrangement& arrangement, const EngineSpec& engine, const DerivationLog& log);

}  // namespace hybridkv
