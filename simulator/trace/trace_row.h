#pragma once

#include <cstdint>
#include <vector>

#include "simulator/trace/trace_fields.h"
#include "simulator/trace/trace_file.h"

namespace hybridkv {

/// One request as a trace describes it: ids instead of chains.
struct TraceRow {
  TraceRequest request;             ///< without its runs
  std::int64_t block_tokens = 0;    ///< tokens of an id, >= 1
  std::vector<std::uint64_t> ids;   ///< of the prompt from its start
  std::uint64_t scope = 0;          ///< ids mean the same content only where scopes are equal; 0: in the whole file
};

/// Content of requests with other `cache_salt` is never shared, as engines mix it into the keys of a prompt; requests
/// without one share with each other. Takes it into the scope of the row.
void add_salt(const JsonElement& object, TraceRow& row);

/// What to do where the number of ids is not that of the blocks of the prompt, the last one cut at its length.
enum class IdCount {
  exact,  ///< the trace contradicts itself
  full,   ///< full blocks alone may have ids: the rest is content of its own
  any,    ///< what has no id is content of its own, ids beyond the prompt are left out
};

/// Adds the runs of the row's prompt behind `runs`; the tokens of the prompt that no id stands for. `number` tells the
/// request from all others. Throws InputError, with the numbers, where the ids do not fit the length.
std::int64_t append_runs(const TraceRow& row, IdCount count, std::int64_t number, std::vector<TokenRun>& runs);

/// Reads rows of the forms that are one request a line, each on its own.
class TraceRowReader {
 public:
  /// Of mooncake, qwen, blocks, tokens, lookups. Throws DamagedLine, InputError where the row contradicts itself or an
  /// earlier one.
  const TraceRow& read(const JsonElement& object, TraceForm form);
  static IdCount id_count(TraceForm form);

 private:
  void read_tokens(const JsonElement& object);
  void read_form(const JsonElement& object, TraceForm form);
  double since_first(double seconds, const char* field);

  TraceRow row_;
  std::int64_t block_size_ = 0;    // of all rows, 0 = not known yet
  double first_seconds_ = -1;      // of the first row, of forms with a calendar's time
  std::int64_t first_turn_ = -1;   // how the first row counts turns
};

}  // namespace hybridkv
