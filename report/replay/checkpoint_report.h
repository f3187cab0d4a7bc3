#pragma once

#include <string>

#include "ask/replay/checkpoint_advice.h"
#include "report/format.h"

namespace hybridkv {

/// Identifies the JSON of `recommend --checkpoints`.
inline constexpr const char* checkpoints_schema_id = "hybridkv-checkpoints/1";

/// `recommend --checkpoints --format FORMAT`: the places, the last state moved back, the settings and the best of them;
/// as json {schema, trace, facts, places, found_back, settings}, as csv the settings alone.
std::string render_checkpoints(const CheckpointAnswer& advice, Format format, const Style& style = {});

}  // namespace hybridkv
