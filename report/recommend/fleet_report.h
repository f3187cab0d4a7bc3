#pragma once

#include <span>
#include <string>

#include "ask/clock/fleet.h"
#include "report/document.h"
#include "report/format.h"

namespace hybridkv {

/// Identifies the JSON of `recommend --gpu`.
inline constexpr const char* fleet_schema_id = "hybridkv-fleet/1";

/// Which GPUs to take and how, what else was tried, under which assumptions, and the commands that say the numbers
/// again. Pre: one engine answers.
Document fleet_report(std::span<const EngineFleet> engines);

/// `recommend --gpu … --format FORMAT` of one engine: fleet_report for people, a row for every deployment tried as csv,
/// all of it as json.
std::string render_fleet(const EngineFleet& engine, Format format, const Style& style = {});

}  // namespace hybridkv
