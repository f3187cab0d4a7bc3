#pragma once

#include "planner/arrangement.h"
#include "planner/derivation.h"

namespace hybridkv {

/// What the derivation says of sequences, their cells and rows, and what they keep on the host. Pre: ids are counted.
void derive_sequences(const Arrangement& arrangement, const EngineSpec& engine, const DerivationLog& log);

}  // namespace hybridkv
