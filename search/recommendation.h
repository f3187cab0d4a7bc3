#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/named_values.h"
#include "planner/plan_facts.h"
#include "search/pick.h"
#include "search/search_result.h"
#include "search/search_space.h"
#include "simulator/overload.h"
#include "simulator/simulation.h"
#include "simulator/trace.h"

namespace hybridkv {

/// How much of a space was simulated.
enum class SearchKind {
  exhaustive,  ///< every combination
  refined,     ///< every layout with whole-block matches and the first retention; on the Pareto front of those and on
               ///< the default every match unit and retention interval
  pruned,      ///< the same, but of the layouts only every pack in the reference's mode, and those that hold the
               ///< concurrency of the pick and that no other one of their mode beats in block, bytes and concurrency
};

inline constexpr auto search_kind_names = std::to_array<Named<SearchKind>>(
    {{SearchKind::exhaustive, "exhaustive"},
     {SearchKind::refined, "refined"},
     {SearchKind::pruned, "pruned"}});

constexpr std::string_view to_string(SearchKind kind) { return name_in(search_kind_names, kind); }

/// How far a search is.
struct RecommendProgress {
  std::string_view what;          ///< "plan", "simulate", "other assumptions"
  std::int64_t done = 0;          ///< simulations
  std::int64_t total = 0;
};

/// What is searched for whom.
struct RecommendSpec {
  ModelSpec model;
  EngineSpec engine;        ///< the pack size is searched; block size and mode are the default's
  LimitsSpec limits;
  SearchSpace space;        ///< empty lists: default_search_space
  std::int64_t at_length = 0;                         ///< L of bytes per request and concurrency, tokens, >= 1
  std::optional<double> min_concurrency;              ///< requests of L tokens that must fit at once; default: one
  std::optional<std::int64_t> min_kernel_block;       ///< smallest kernel block that is fast enough, tokens
  PickRule rule;
  DriverSpec driver;
  SchedulerSettings scheduler;
  std::optional<std::int64_t> default_retention;      ///< tokens; the default's, unset keeps every checkpoint
  std::optional<std::int64_t> default_match_unit;     ///< tokens; the default's, unset is the block
  /// The workload, from its start every time: it is read once for every batch of simulations.
  std::function<std::unique_ptr<TraceSource>()> open_trace;
  std::optional<SearchKind> search;  ///< default: as much as fits `most_work`
  double most_work = 1.2e8;  ///< simulated work before a search stops being exhaustive; about 1e7 a second and core
  std::int64_t threads = 0; ///< 0 = as many as the machine has cores
  std::function<void(const RecommendProgress&)> on_progress;
};

/// One combination with what the workload makes of it.
struct Candidate : WeighedCandidate {  // changed settings: pack, floor, mode, retention and match unit
  std::size_t layout = 0;                        ///< position in Recommendation::layouts
  std::optional<std::int64_t> retention_tokens;  ///< unset: every checkpoint is kept
  std::optional<std::int64_t> match_unit_tokens; ///< unset: the block
  // From the simulator, as `simulate` reports them.
  std::int64_t uncached_common_tokens = 0;       ///< that attention alone matched
  std::int64_t preemptions = 0;
  std::int64_t evictions = 0;
  std::int64_t copied_states = 0;
  std::vector<ModelledRule> modelled;
  std::optional<QueueOverload> overload;         ///< where an open loop cannot keep up
  bool operator==(const Candidate&) const = default;
};

/// The result of a search of layouts with blocks. The default: N = 1, everything else as the engine has it.
struct Recommendation : SearchResult {
  SearchSpace space;                ///< as filled
  SearchKind search = SearchKind::exhaustive;
  std::vector<PlannedLayout> layouts;
  std::int64_t planned_layouts = 0; ///< packs * floors * modes
  std::int64_t merged_layouts = 0;  ///< the same block as another one
  std::vector<ImpossibleLayout> impossible;
  std::vector<Candidate> candidates;              ///< by settings_changed, then in the order of the space
  std::optional<std::size_t> unpacked_pick;       ///< the pick among N = 1, which engines run without packing; nothing
                                                  ///< where that is the pick, or none can be picked

  const PlannedLayout& layout_of(const Candidate& candidate) const { return layouts[candidate.layout]; }
  /// What its plan says of requests of `at_length` tokens.
  const CapacityPlan& capacity_of(const Candidate& candidate) const {
    return hybridkv::capacity_of(layout_of(candidate).plan, at_length);
  }
  std::int64_t match_unit(const Candidate& candidate) const {
    return candidate.match_unit_tokens.value_or(block_tokens(layout_of(candidate)));
  }
};

/// Plans and simulates the space, and picks from the Pareto front of (re-prefilled tokens, bytes per request,
/// concurrency). Re-prefilled tokens are the repeated tokens of the workload that did not hit, and those computed again
/// after preemptions. Deterministic, whatever the number of threads.
///
/// Throws InputError where no combination meets the limits (the message says what would) or for an empty workload;
/// SpecError where none can run or every request is refused for its length, for a pack of more layers than there are,
/// and for engine.num_blocks, which is no common limit of layouts.
Recommendation recommend(const RecommendSpec& spec);

}  // namespace hybridkv
