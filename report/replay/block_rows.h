#pragma once

#include <string>

#include "report/replay/replay_fields.h"

namespace hybridkv {

using Blocks = ReplayFields<SimulationStats>;

/// One row per cache with every counter. Pre: all caches are of blocks.
Table blocks_table(const SimulateAnswer& answer);

/// "align", or "attention only" where there are no states.
std::string mode_text(const CacheGeometry& geometry);

}  // namespace hybridkv
