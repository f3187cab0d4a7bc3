#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/cache_plan.h"
#include "planner/evidence.h"
#include "scenarios/scenario.h"

namespace hybridkv {

/// How much of a trace any policy could find in the memory of one layout, one request at a time. Tokens are of the
/// prompts that the engine takes.
struct LayoutBound {
  Evidence evidence = Evidence::run;
  std::int64_t unit_tokens = 0;  ///< where hits of the replayed cache end: multiples of it
  std::int64_t unit_bytes = 0;   ///< K and V of a unit
  std::int64_t state_bytes = 0;  ///< all states that stand for one prefix
  std::int64_t memory_bytes = 0; ///< of all ids that requests can get, and of the host where it has any
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t feasible_tokens = 0;     ///< by a schedule that knows the trace, replayed where is_replayed; of a bound
                                        ///< beside a replay at least what that found (add_found)
  std::int64_t scheduled_tokens = 0;    ///< by its own account of bytes
  bool is_replayed = false;             ///< through pools with the ids of the layout; else those of the account
  std::int64_t upper_tokens = 0;        ///< by no policy more
  std::int64_t endless_tokens = 0;      ///< in endless memory, at multiples of the unit
  std::int64_t evaluations = 0;         ///< of the bound

  /// Share of the prompt tokens; 0 without any.
  double rate(std::int64_t tokens) const {
    return prompt_tokens > 0 ? static_cast<double>(tokens) / static_cast<double>(prompt_tokens) : 0;
  }
};

/// Throws SpecError for a cache that finds no prefix again, whatever the policy.
void require_prefixes(const CachePlan& plan);

/// The bounds of the cache that a scenario plans, over the trace of its section simulate, where prompts of
/// `max_model_len` tokens or more are refused (default: of the longest length). What a layout counts: K and V of full
/// attention and states; windows and what lies beside them are left out, which makes a bound larger, never wrong. Where
/// states have an arena of their own, the bound counts all memory as one, the schedule keeps to either.
/// Throws SpecError where the cache has none, InputError for errors in the trace, or more units than fit this machine.
///
/// `replicas`: of so many caches together. Whatever a router does with them, and whatever each evicts, is a schedule of
/// one memory as large as all, so that its bound is one of every router, shared store and transfer between them. The
/// schedule then is that of one such store.
LayoutBound layout_bound(const Scenario& scenario, std::optional<std::int64_t> max_model_len = {},
                         std::int64_t replicas = 1);

/// The same of several, on all cores: nothing where there is none, where a scenario is null, or where requests run
/// beside each other.
std::vector<std::optional<LayoutBound>> layout_bounds(std::span<const Scenario* const> scenarios);

/// The bounds of every cache of a scenario, by pack and length as `planned_caches` lists them; empty unless the section
/// simulate asks for upper bounds.
std::vector<std::optional<LayoutBound>> scenario_bounds(const Scenario& scenario, std::int64_t replicas = 1);

}  // namespace hybridkv
