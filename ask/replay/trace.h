#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "scenarios/scenario.h"
#include "simulator/trace/trace_spec.h"
#include "simulator/trace/trace_statistics.h"

namespace hybridkv {

/// What is in a trace, and what its distances mean for a model.
struct TraceAnswer {
  std::string trace;                      ///< in words
  std::optional<TraceForm> form;          ///< of a file
  std::int64_t bad_lines = 0;             ///< skipped
  std::int64_t uncovered_tokens = 0;      ///< of prompts, that no id stands for
  TraceStatistics statistics;
  std::optional<std::int64_t> token_bytes;  ///< K and V of a token in a rank's layers with full attention; unset: no
                                            ///< model
  std::int64_t ranks = 1;                   ///< of its tensor parallel split
  std::string model;                        ///< whose

  double share(std::int64_t tokens) const {
    return statistics.prompt_tokens > 0 ? static_cast<double>(tokens) / static_cast<double>(statistics.prompt_tokens)
                                        : 0;
  }
};

/// Reads the trace once. `scenario`: for the bytes of a token; where it has none, distances stay in tokens.
/// Throws InputError for errors in the trace or the scenario.
TraceAnswer describe_trace(const TraceSpec& trace, const Scenario* scenario,
                           const std::function<void(const TraceProgress&)>& on_progress = {});

/// Gives the lines of a file that holds the requests of a trace (trace_text.h), piece by piece.
/// Throws InputError for errors in the trace.
void write_trace(const TraceSpec& trace, const std::function<void(const std::string&)>& write);

}  // namespace hybridkv
