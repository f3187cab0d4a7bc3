#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ask/compare_settings.h"
#include "planner/evidence.h"

namespace hybridkv {

/// What one layout finds of a trace, and how far that is from what any policy could find in its memory. Tokens are of
/// the prompts that the engine takes.
struct BoundAnswer {
  std::string name;              ///< CompareSetting::name
  std::string refused;           ///< why nothing is known, one line; empty: it is
  Evidence evidence = Evidence::run;
  std::int64_t unit_tokens = 0;  ///< hits are multiples of it
  std::int64_t unit_bytes = 0;   ///< K and V of a unit
  std::int64_t state_bytes = 0;  ///< all states that stand for one prefix
  std::int64_t memory_bytes = 0; ///< of all ids that requests can get
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t found_tokens = 0;        ///< by the engine's rules, replayed
  std::int64_t feasible_tokens = 0;     ///< by a schedule that knows the trace
  std::int64_t upper_tokens = 0;        ///< by no policy more
  std::int64_t endless_tokens = 0;      ///< in endless memory, at multiples of the unit
  std::int64_t token_exact_tokens = 0;  ///< and token by token
  std::int64_t evaluations = 0;         ///< of the bound

  double rate(std::int64_t tokens) const {
    return prompt_tokens > 0 ? static_cast<double>(tokens) / static_cast<double>(prompt_tokens) : 0;
  }
};

/// The bounds of every setting, one request at a time. What a layout counts: K and V of full attention and states;
/// windows and what lies beside them are left out, which makes a bound larger, never wrong. Where states have an arena
/// of their own, the bound counts all memory as one, the schedule keeps to either.
/// Throws InputError where no setting has a bound, and for errors in the trace.
std::vector<BoundAnswer> bounds(const std::vector<CompareSetting>& settings,
                                const std::function<void(int done, int total)>& on_progress = {});

}  // namespace hybridkv
