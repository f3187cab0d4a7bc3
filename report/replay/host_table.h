#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "ask/replay/simulate.h"
#include "report/table.h"

namespace hybridkv {

/// What the memory of the host was good for, a row a cache; nothing where none has any.
std::optional<Table> host_table(const SimulateAnswer& answer);

/// The same of one cache for programs; null without host memory.
nlohmann::ordered_json host_json(const SimulationStats& stats);

inline constexpr const char* host_text =
    "Loaded: found because the host had what the pools lacked. Dead: K and V on the host behind which no state is left "
    "to go on from. Time of loads at the stated rate; only a clock waits for it. Modelled: no engine's run covers it.";

}  // namespace hybridkv
