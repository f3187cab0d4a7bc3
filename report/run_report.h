#pragma once

#include <nlohmann/json.hpp>

#include "ask/start/doctor.h"
#include "report/document.h"

namespace hybridkv {

/// Adds what the engine did as it served, why, and what may find more; nothing where the log does not say.
void add_run_time(Document& document, const DoctorAnswer& answer);

/// Adds what was replayed; nothing where nothing was.
void add_log_replay(Document& document, const DoctorAnswer& answer);

/// The same for programs: "run_time", "reasons", "more_hits" and "replay", each where there is such a thing.
void add_run_json(nlohmann::ordered_json& json, const DoctorAnswer& answer);

/// Settings to try, with what they hold.
Table better_table(const std::vector<BetterSetting>& better);

}  // namespace hybridkv
