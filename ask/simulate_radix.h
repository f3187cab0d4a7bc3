#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ask/simulate.h"
#include "simulator/radix_stats.h"

namespace hybridkv {

/// A dual pool with a radix tree to replay a trace through.
struct RadixCache {
  std::string name;
  RadixSettings settings;
  std::optional<std::int64_t> max_model_len;  ///< longer prompts are refused; unset: no limit
};

/// One replay of one or several such caches over one trace.
struct RadixAnswer {
  std::string trace;             ///< what was replayed: a file, or the generated trace with its seed
  bool decodes = false;          ///< requests generate their output
  std::vector<RadixStats> stats; ///< (cache)
  std::int64_t requests = 0;     ///< of the whole trace
  std::int64_t prompt_tokens = 0;///< of the whole trace
  std::int64_t bad_lines = 0;    ///< of the trace file, skipped
  std::vector<std::int64_t> token_exact_hit_tokens;  ///< (cache), by any prefix; empty unless asked for
  std::vector<LossStats> losses;                     ///< (cache); empty unless asked for
  std::vector<std::optional<LayoutBound>> bounds;    ///< (cache) of scenarios that ask for it, see scenario_bounds
  /// (cache, request); empty of a trace of more than most_listed_requests.
  std::vector<std::vector<RadixRecord>> listed;
};

/// Who looks on. All may be empty.
struct RadixWatch {
  std::function<void()> on_start;  ///< the caches are right and the trace is open
  std::function<void(const RadixRecord&)> on_record;  ///< of the first cache, in the order of the trace
  /// With SimulateRequest::losses: the same records, and what each lost.
  std::function<void(const RadixRecord&, const ReuseLoss&)> on_loss;
  std::function<void(const SweepProgress&)> on_progress;  ///< after every batch of the trace
};

/// Do requests generate their output under this driver? Throws SpecError("simulate.driver") for one that no tree is
/// replayed by.
bool replay_decodes(const DriverSpec& driver);

/// The caches of the scenario's plan, one for each length, as another length refuses other prompts. Throws InputError
/// with the place of what cannot be planned, and where nothing is kept for prefixes. Pre: the release has radix pools.
std::vector<RadixCache> planned_radix_caches(const Scenario& scenario);

/// Replays the trace through all caches, one request after the other: at its prompts alone, or, where the driver is the
/// closed loop with one in flight, with what they generate. Throws SpecError, path "radix.FIELD" for unusable settings
/// and "simulate.driver" for other drivers, and what open_trace throws.
RadixAnswer simulate_radix(const SimulateRequest& request, std::vector<RadixCache> caches,
                           const RadixWatch& watch = {});

}  // namespace hybridkv
