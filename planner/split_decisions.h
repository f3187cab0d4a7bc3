#pragma once

#include "planner/strategies.h"

namespace hybridkv {

/// Why two pools are as large as they are: slots of a request, slots, what lies beside them, tokens, running requests,
/// the elastic buffer, and what another ratio would do. `inputs`: what the pools were split by.
void derive_split(const RadixPools& pools, const SplitInputs& inputs, const ArrangeInputs& asked);

/// The sizes that the engine prints beside its numbers of slots. Pre: radix pools.
void derive_printed(const Arrangement& arrangement, const DerivationLog& log);

}  // namespace hybridkv
