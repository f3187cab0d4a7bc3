#pragma once

#include <string>

#include "ask/simulate.h"

namespace hybridkv {

/// Do requests of an open loop come faster than they are served? So where at one time more of them waited than ever ran
/// at once: a new one then waits longer than it takes all that run to end.
bool is_overloaded(const DriverSpec& driver, const SimulationStats& stats);

/// A sentence that says so, with the numbers; empty where the engine keeps up.
std::string overload_text(const DriverSpec& driver, const SimulationStats& stats);

}  // namespace hybridkv
