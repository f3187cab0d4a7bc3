#pragma once

#include "planner/strategies.h"

namespace hybridkv {

/// Derives the sizes of the two pools: slots of a request, all slots, what lies beside them, tokens, running requests,
/// the elastic buffer, and what another ratio would do. `inputs`: what the pools were split by.
void derive_split(const TreePools& pools, const SplitInputs& inputs, const ArrangeInputs& asked);

/// The sizes that the engine prints beside its numbers of slots. Pre: tree pools.
void derive_printed(const Arrangement& arrangement, const DerivationLog& log);

}  // namespace hybridkv
