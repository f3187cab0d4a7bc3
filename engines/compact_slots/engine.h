#pragma once

#include "engines/engine.h"
#include "engines/compact_slots/rules.h"

namespace hybridkv {

inline constexpr EngineAxis axes_of_compact_slots[] = {{&search_axis::packs, tried<1>}, {&search_axis::block_sizes},
                                                       all_modes};

/// Compact slots beside attention pages, a proposal.
inline constexpr Engine compact_slots{.rules = &rules_of_compact_slots,
                                      .blocks = &plain_block_rules,
                                      .replay = block_cache_of,
                                      .replayed = Evidence::source_only,
                                      .axes = axes_of_compact_slots};

}  // namespace hybridkv
