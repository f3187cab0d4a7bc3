#pragma once

#include "engines/engine.h"
#include "engines/jenga/rules.h"

namespace hybridkv {

/// Jenga, from its paper.
inline constexpr Engine jenga{.rules = &rules_of_jenga,
                              .blocks = &plain_block_rules,
                              .replay = block_cache_of,
                              .replayed = Evidence::source_only,
                              .axes = axes_of_read_blocks};

}  // namespace hybridkv
