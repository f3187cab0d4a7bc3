#pragma once

#include <optional>
#include <string>

#include "simulator/trace/trace.h"
#include "simulator/trace/trace_file.h"

namespace hybridkv::fuzz {

/// All requests of a trace file, each checked: lengths in range, runs that ascend to the length of the prompt. Nothing
/// where the file is refused.
std::optional<TraceBatch> read_trace(const TraceFileSpec& spec);

}  // namespace hybridkv::fuzz
