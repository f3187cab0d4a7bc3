#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "ask/replay/simulate.h"
#include "report/table.h"

namespace hybridkv {

/// What each arena of the caches held: which one is full, and which one evicts. Nothing where every cache has one
/// arena, whose numbers are those of the cache.
std::optional<Table> arena_table(const SimulateAnswer& answer);

/// The same of one cache; empty where it has one arena.
nlohmann::ordered_json arenas_json(const SimulationStats& stats);

}  // namespace hybridkv
