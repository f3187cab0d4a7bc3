#pragma once

#include "planner/cache_plan.h"
#include "simulator/slots/slot_settings.h"

namespace hybridkv {

/// The server of a plan with rows by sequence. Pre: it has them.
SlotSettings slot_settings_of(const CachePlan& plan);

}  // namespace hybridkv
