#pragma once

#include <string>

#include "planner/arrangement.h"
#include "planner/engine_spec.h"

namespace hybridkv {

/// Multiples of tokens that decide which prefixes are found, where chain hashes may be finer than blocks.
struct MatchUnits {
  std::int64_t scheduler_block = 0;  ///< S = lcm of all groups' blocks
  std::int64_t hash_block = 0;       ///< h, tokens of a chain hash
  std::int64_t tables = 0;           ///< in which prefixes are found
  bool fine = false;                 ///< hits are multiples of h instead of S
  std::string error;                 ///< why the unit that was asked for is refused; empty: it is not
  std::int64_t hit() const { return fine ? hash_block : scheduler_block; }
};

/// With one table h is S; with several the user's unit, else what their blocks have in common; without prefix caching
/// S. Hits are fine where the block of some state is longer than h and every other group is of full attention, of
/// latents, of states, or has blocks of h. Attention of d ranks that share its tokens spans d times its block.
/// Source: vLLM 0.33 HybridKVCacheCoordinator.
MatchUnits match_units(const Arrangement& arrangement, const EngineSpec& engine);

}  // namespace hybridkv
