#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "simulator/losses/reuse_distance.h"
#include "simulator/losses/token_exact_bound.h"
#include "simulator/trace/trace.h"

namespace hybridkv {

/// How values spread; a quantile is the value at that rank, rounded up. All 0 where there are none.
struct Spread {
  std::int64_t count = 0;
  double min = 0, median = 0, mean = 0, p90 = 0, p99 = 0, max = 0;
  bool operator==(const Spread&) const = default;
};

/// Of the values, which are put in another order.
Spread spread_of(std::vector<double>& values);

/// What is in a trace, whatever cache it meets.
struct TraceStatistics {
  std::int64_t requests = 0;
  double first_seconds = 0, last_seconds = 0;  ///< earliest and latest arrival
  bool in_order = true;                        ///< no request arrives before the one before it
  std::int64_t dependencies = 0;               ///< on other requests
  std::int64_t prompt_tokens = 0, output_tokens = 0;
  Spread input, output;                        ///< tokens a request
  std::int64_t repeated_tokens = 0;            ///< that an earlier prompt began with, token by token, but the last one
  std::int64_t repeated_id_tokens = 0;         ///< of whole ids alone
  std::int64_t distinct_tokens = 0;            ///< of different content
  ReuseDistances::Distances distances;         ///< of the repeated ids

  /// A prompt goes on from an earlier one where it begins with all full ids of it, at least two: the longest such, of
  /// equal ones the latest. A session is a prompt with all that go on from it, or from those.
  std::int64_t going_on = 0;
  std::int64_t going_on_prompt_tokens = 0;     ///< of those prompts
  std::int64_t taken_up_tokens = 0;            ///< of those prompts, that the earlier one had
  Spread requests_between;                     ///< others, until a prompt is gone on from
  Spread seconds_between;
  std::int64_t sessions = 0;                   ///< of at least two prompts
  Spread session_prompts;                      ///< of those sessions
  struct Turn {
    std::int64_t prompts = 0;
    std::int64_t returned = 0;  ///< prompts that another one goes on from
  };
  std::vector<Turn> turns;                     ///< by place in the session from the first, the last one all later ones
};

/// Adds up a trace. Memory: about 100 bytes per request and 150 per different id.
class TraceStatisticsReader {
 public:
  static constexpr std::size_t most_turns = 8;
  void consume(const TraceBatch& batch);
  /// To be called once.
  TraceStatistics finish();

 private:
  struct Seen {
    double seconds = 0;
    std::int64_t session = 0;  // number of its first prompt
    std::int64_t turn = 0;     // from 0
    bool returned = false;
  };
  void find_earlier(const TraceRequest& request, std::span<const TokenRun> prompt);

  TraceStatistics statistics_;
  TokenExactBound exact_;
  ReuseDistances reuse_;
  std::unordered_map<std::uint64_t, std::int64_t> ends_;  // chain of the last full id of a prompt: its number
  std::vector<Seen> seen_;
  std::vector<double> input_, output_, requests_between_, seconds_between_;
};

}  // namespace hybridkv
