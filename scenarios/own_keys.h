#pragma once

#include "planner/engine_spec.h"
#include "scenarios/key_table.h"

namespace hybridkv {

/// Adds the settings that single engines have, each as those that take it describe it.
void add_own_keys(Section<EngineSpec>& keys);

}  // namespace hybridkv
