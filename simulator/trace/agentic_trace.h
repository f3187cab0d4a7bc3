#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulator/trace/held_trace.h"
#include "simulator/trace/trace_fields.h"
#include "simulator/trace/trace_row.h"

namespace hybridkv {

/// Reads agentic traces, whose requests lie session after session, into one trace in order of time.
class AgenticReader {
 public:
  /// `agentic`: one object is a session with its sub-agents' requests among its own. All sessions begin at time 0.
  /// Nothing is added where it throws DamagedLine; InputError where the trace takes too much memory.
  void read_session(const JsonElement& object);
  /// `agentic_v2`: the header, which comes first. Throws InputError.
  void read_header(const JsonElement& object);
  /// `agentic_v2`: a request. Pre: has_header(). Throws as read_session, InputError for a request_id that came before.
  void read_request(const JsonElement& object, std::int64_t line);
  bool has_header() const { return block_tokens_ > 0; }

  std::int64_t num_requests() const { return trace_.size(); }
  /// Prompt tokens that no id stands for.
  std::int64_t uncovered_tokens() const { return uncovered_tokens_; }

  /// Nothing more is to be read. The line and what is wrong with it, where a request waits for one that is not there or
  /// for itself.
  struct Fault {
    std::int64_t line = 0;
    std::string what;
  };
  std::optional<Fault> finish();
  /// Appends the next request; false at the end. Pre: finish found no fault.
  bool next(TraceBatch& batch) { return trace_.next(batch); }

 private:
  struct Leaf {
    TraceRow row;
    std::int64_t thread = 0;
  };
  struct Wish {  // a dependency, of a request that may come later
    std::int64_t waiting = 0;
    std::string request_id;
    TraceDependency dependency;
  };
  void collect(const JsonElement& object, double start, std::vector<Leaf>& leaves, std::int64_t& threads) const;
  std::int64_t hold(const TraceRow& row, PromptThread& thread);

  HeldTrace trace_;
  std::int64_t sessions_ = 0;
  std::int64_t uncovered_tokens_ = 0;
  std::int64_t block_tokens_ = 0;
  bool local_ids_ = true;
  std::vector<TokenRun> runs_;
  std::unordered_map<std::uint64_t, PromptThread> threads_;      // v2, by session
  std::unordered_map<std::uint64_t, std::int64_t> turns_;        // v2, by session
  std::unordered_map<std::string, std::int64_t> numbers_;        // v2, by request_id
  std::vector<std::int64_t> lines_;                              // v2, by number
  std::vector<std::string> names_;                               // v2, by number
  std::vector<Wish> wishes_;
};

}  // namespace hybridkv
