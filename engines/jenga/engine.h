#pragma once

#include "engines/engine.h"
#include "engines/jenga/rules.h"
#include "simulator/blocks/per_kind_rules.h"

namespace hybridkv {

/// States are kept every so many tokens or not at all.
inline constexpr EngineAxis axes_of_jenga[] = {{&search_axis::block_sizes}, modes_without_all};

/// Jenga, from its paper.
inline constexpr Engine jenga{.rules = &rules_of_jenga,
                              .blocks = &per_kind_rules,
                              .replay = block_cache_of,
                              .replayed = Evidence::source_only,
                              .axes = axes_of_jenga};

}  // namespace hybridkv
