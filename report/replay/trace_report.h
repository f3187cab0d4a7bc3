#pragma once

#include <string>

#include "ask/replay/trace.h"
#include "report/format.h"
#include "report/table.h"

namespace hybridkv {

/// Identifies the JSON of `trace`.
inline constexpr const char* trace_schema_id = "hybridkv-trace/1";

/// A row per quantity that spreads: lengths, what lies between a prompt and the one that goes on from it.
Table trace_spreads(const TraceAnswer& answer);

/// A row per share of the repeated tokens: within how many other requests, tokens and bytes they return.
Table reuse_distances(const TraceAnswer& answer);

/// `trace --format FORMAT`: what is in a trace. As json {schema, trace, form, requests, ..., lengths, reuse, sessions};
/// as csv the spreads alone.
std::string render_trace(const TraceAnswer& answer, Format format, const Style& style = {});

}  // namespace hybridkv
