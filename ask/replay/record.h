#pragma once

#include "audit/recording.h"
#include "scenarios/scenario.h"
#include "simulator/cache_replay.h"

namespace hybridkv {

/// The header of a recording of a simulated run through that cache. `planned`: the scenario whose first plan it is of,
/// which says the layers and bytes of its groups; null: there is none.
/// Throws InputError for what is not recorded: an index other than pools of blocks, memory of the host.
Recording recording_of_run(const AnyCache& cache, const Scenario* planned);

}  // namespace hybridkv
