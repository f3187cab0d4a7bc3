#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/trace/prompt_list.h"
#include "simulator/trace/synthetic_trace.h"
#include "simulator/trace/trace.h"
#include "simulator/trace/trace_file.h"

namespace hybridkv {

/// Which trace to replay: a file, prompts written out, or, without either, a made-up one.
struct TraceSpec {
  std::string file;                      ///< path, "-" for standard input; empty: no file
  std::optional<TraceForm> form;         ///< of the file; default: by its first request
  bool skip_bad_lines = false;           ///< of the file
  std::vector<PromptSpec> prompts;       ///< empty: none
  SyntheticTraceSpec synthetic;          ///< where there is neither; its num_requests stands in `max_requests`
  std::optional<std::int64_t> max_requests;  ///< of any trace: only the first ones; a made-up one has 10,000 else
  bool operator==(const TraceSpec&) const = default;
};

/// Opens it. Throws what TraceFile, PromptListTrace and SyntheticTrace throw.
std::unique_ptr<TraceSource> open_trace(const TraceSpec& spec);

/// How reports call it: "conversation.jsonl", "3 prompts written out", "a made-up trace of …, seed 1".
std::string describe(const TraceSpec& spec);

/// What made-up sessions are: "chats, agent loops and questions over documents".
std::string traffic_text(const SyntheticTraceSpec& spec);

}  // namespace hybridkv
