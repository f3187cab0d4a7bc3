#pragma once

#include <cstdint>

#include "planner/derivation.h"

namespace hybridkv {

/// Throws SpecError("engine.num_blocks") where so many ids of so many bytes leave 64 bits. `what`: how messages call
/// them, "blocks" or "ids".
void require_addressable(std::int64_t ids, std::int64_t bytes_per_id, const char* what);

/// Derives, by `rule`, that one block fewer can be used than there are.
void derive_usable_blocks(std::int64_t num_blocks, RuleOf rule, const DerivationLog& log);

}  // namespace hybridkv
