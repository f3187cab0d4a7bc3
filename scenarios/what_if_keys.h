#pragma once

#include "planner/supposed_layout.h"
#include "scenarios/key_table.h"

namespace hybridkv {

/// The keys of engine.what_if.
const Section<SupposedLayout>& what_if_keys();

}  // namespace hybridkv
