#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/named_values.h"
#include "planner/model_spec.h"
#include "planner/plan_facts.h"
#include "search/candidate.h"
#include "search/pick.h"
#include "search/search_space.h"
#include "search/workload.h"
#include "simulator/trace/trace.h"

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
  EngineSpec engine;        ///< the default, but for its pack size, which is one
  LimitsSpec limits;
  SearchSpace space;        ///< empty lists: the defaults of the engine's index
  std::int64_t at_length = 0;                         ///< L of bytes per request and concurrency, tokens, >= 1
  std::optional<double> min_concurrency;              ///< requests of L tokens that must fit at once; default: one
  std::optional<std::int64_t> min_kernel_block;       ///< smallest kernel block that is fast enough, tokens
  /// Of a server with slots: most that all checkpoints and saved prompts may take of the host; unset: any.
  std::optional<std::int64_t> host_memory_bytes;
  PickRule rule;
  DriverSpec driver;
  SchedulerSettings scheduler;
  std::optional<std::int64_t> default_retention;      ///< tokens; the default's, unset keeps every checkpoint
  std::optional<std::int64_t> default_match_unit;     ///< tokens; the default's, unset is the block
  /// The workload, from its start every time: it is read once for every batch of simulations.
  std::function<std::unique_ptr<TraceSource>()> open_trace;
  /// What a layout does to kernels; unset: no kernel is asked about.
  std::function<std::vector<KernelFit>(const PlannedLayout&)> judge;
  std::optional<SearchKind> search;  ///< default: as much as fits `most_work`
  double most_work = 1.2e8;  ///< simulated work before a search stops being exhaustive; about 1e7 a second and core
  std::int64_t threads = 0; ///< 0 = as many as the machine has cores
  std::function<void(const RecommendProgress&)> on_progress;

  /// The longest length that the engine takes.
  std::int64_t longest_length() const;
  /// The limits with the length that is compared, which may be another one.
  LimitsSpec compared_limits() const;
};

/// What is assumed other than stated.
enum class Assumption {
  memory,       ///< `value` bytes
  length,       ///< requests of `value` tokens
  concurrency,  ///< more than `value` requests at once are demanded
  no_reuse,     ///< no prompt shares anything with another
};

inline constexpr auto assumption_names = std::to_array<Named<Assumption>>(
    {{Assumption::memory, "memory"},
     {Assumption::length, "length"},
     {Assumption::concurrency, "concurrency"},
     {Assumption::no_reuse, "no_reuse"}});

constexpr std::string_view to_string(Assumption assumption) { return name_in(assumption_names, assumption); }

/// The pick under another assumption.
struct WhatIf {
  Assumption assumption = Assumption::memory;
  double value = 0;
  std::optional<std::size_t> pick;  ///< position in candidates; nothing where none meets the limits
  Objectives objectives;            ///< of that pick under the assumption
  Objectives stated_pick;           ///< of the stated pick under the assumption
};

/// A combination that cannot run.
struct ImpossibleLayout {
  EngineSpec engine;
  SpecError refusal;  ///< of the planner or the simulator, with the path of the value at fault
};

/// What a search finds. Positions are those of its candidates. The default: N = 1, everything else as the engine has
/// it.
struct Recommendation {
  WorkloadFacts workload;
  SearchSpace space;                ///< as filled
  SearchKind search = SearchKind::exhaustive;
  std::int64_t at_length = 0;
  std::int64_t max_model_len = 0;   ///< the longest; requests with a prompt of as many tokens are refused
  double least_concurrency = 0;     ///< that the pick had to hold: min_concurrency, or nearly the reference's
  std::vector<PlannedLayout> layouts;
  std::int64_t planned_layouts = 0; ///< combinations of what changes the plan
  std::int64_t merged_layouts = 0;  ///< of those, the same as another one
  std::vector<ImpossibleLayout> impossible;
  std::int64_t combinations = 0;    ///< of settings that can run
  std::int64_t simulations = 0;     ///< for the candidates; other assumptions took more
  std::vector<Candidate> candidates;              ///< by settings_changed, then in the order of the space
  std::optional<std::size_t> default_candidate;   ///< everything as the engine has it; nothing where it cannot run
  std::optional<SpecError> default_refused;       ///< why not
  /// Whose concurrency the pick may not fall far below: the default, or, where that keeps no states, the same in mode
  /// align, if it was searched; nothing where neither runs.
  std::optional<std::size_t> reference_candidate;
  std::vector<std::size_t> front;                 ///< ascending in re-prefilled tokens
  std::size_t pick = 0;
  std::optional<std::size_t> unpacked_pick;       ///< the pick among N = 1, which engines run without packing; nothing
                                                  ///< where that is the pick, or none can be picked
  std::optional<std::size_t> heedless_pick;       ///< what would be picked if no kernel were asked about; nothing
                                                  ///< where that is the pick
  std::vector<WhatIf> what_ifs;

  const PlannedLayout& layout_of(const Candidate& candidate) const { return layouts[candidate.layout]; }
  const PlannedLayout& layout_of(std::size_t candidate) const { return layout_of(candidates[candidate]); }
  /// What its plan says of requests of `at_length` tokens.
  const CapacityPlan& capacity_of(const Candidate& candidate) const {
    return hybridkv::capacity_of(layout_of(candidate).plan, at_length);
  }
  std::int64_t match_unit(const Candidate& candidate) const {
    return candidate.match_unit_tokens.value_or(block_tokens(layout_of(candidate)));
  }
};

/// Plans and simulates the space, and picks from the Pareto front of (re-prefilled tokens, bytes per request,
/// concurrency). Layouts that a kernel would refuse or corrupt are weighed, and passed over where there is another.
/// Re-prefilled tokens are the repeated tokens of the workload that did not hit, and those computed again after
/// preemptions. Deterministic, whatever the number of threads.
///
/// Throws InputError where no combination meets the limits (the message says what would) or for an empty workload;
/// SpecError where none can run or every request is refused for its length, for a pack of more layers than there are,
/// and for engine.num_blocks, which is no common limit of layouts.
Recommendation recommend(const RecommendSpec& spec);

}  // namespace hybridkv
