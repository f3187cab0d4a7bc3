#pragma once

#include <string>

#include "ask/fleet/fleet.h"
#include "report/format.h"

namespace hybridkv {

/// What a fleet's figures are made of, for below them.
inline constexpr const char* routers_are_modelled =
    "Routers are modelled by their published rules, each replica by its engine's.";

/// `simulate --replicas R`: what a fleet finds of a trace, by router, and how far that is from one store of all its
/// memory, and from any policy.
std::string render_fleet(const FleetAnswer& answer, Format format, const Style& style = {});

}  // namespace hybridkv
