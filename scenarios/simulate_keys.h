#pragma once

#include "scenarios/key_table.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// The keys of a scenario's section `simulate`.
const Section<SimulateRequest>& simulate_keys();

/// The keys of one distribution of a made-up trace, which ten keys of it share.
const SectionInfo& distribution_section();

}  // namespace hybridkv
