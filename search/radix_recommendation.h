#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "planner/cache_plan.h"
#include "planner/model_spec.h"
#include "search/pick.h"
#include "search/recommendation.h"
#include "search/search_result.h"
#include "simulator/radix_stats.h"

namespace hybridkv {

/// What `recommend` may choose from under an engine with radix pools. A list that is left empty stands for defaults:
/// modes: align and none, the engine's own first;
/// strategies: the engine's own, then no_buffer, extra_buffer, extra_buffer_lazy;
/// pages: the engine's own, 1 and 64 tokens; no_buffer alone has pages of one;
/// track intervals: the engine's own and, where requests decode, 64 to 1,024 tokens in powers of two;
/// ratios: the engine's own, the one at which most requests of the compared length run, a few around that, and the
/// largest that still runs as many as a pick has to.
struct RadixSpace {
  std::vector<CacheMode> modes;
  std::vector<RadixStrategy> strategies;        ///< none automatic
  std::vector<double> ratios;                   ///< R, memory of states over that of tokens, each > 0
  std::vector<std::int64_t> page_sizes;         ///< tokens
  std::vector<std::int64_t> track_intervals;    ///< tokens
  bool operator==(const RadixSpace&) const = default;
};

/// What is searched for whom.
struct RadixRecommendSpec {
  ModelSpec model;
  EngineSpec engine;        ///< the default: as asked
  LimitsSpec limits;
  RadixSpace space;
  std::int64_t at_length = 0;             ///< L of bytes per request and concurrency, tokens, >= 1
  std::optional<double> min_concurrency;  ///< requests of L tokens that must run at once; default: one
  PickRule rule;
  bool decodes = false;                   ///< requests generate their output
  /// The workload, from its start every time.
  std::function<std::unique_ptr<TraceSource>()> open_trace;
  std::function<void(const RecommendProgress&)> on_progress;
};

/// One combination with what the workload makes of it.
struct RadixCandidate : WeighedCandidate {  // changed settings: mode, strategy, ratio, page and track interval
  EngineSpec engine;              ///< with its choices; a ratio is set where it is not the default's
  CachePlan plan;                 ///< without views and derivation
  RadixStats stats;               ///< of the replay; zero without a tree
  bool operator==(const RadixCandidate&) const = default;
};

/// A combination that cannot run.
struct ImpossibleRadix {
  EngineSpec engine;
  SpecError refusal;
};

/// The result of such a search, which is always exhaustive.
struct RadixRecommendation : SearchResult {
  RadixSpace space;                       ///< as filled; no ratios where they differ from strategy to strategy
  std::int64_t planned = 0;               ///< combinations
  std::int64_t merged = 0;                ///< of those, with the slots and grids of another one
  std::vector<ImpossibleRadix> impossible;
  std::vector<RadixCandidate> candidates; ///< by settings_changed, then in the order of the space
};

/// Requests of so many tokens that run at once under a plan with radix pools: what both pools hold, and no more than
/// the engine runs.
std::int64_t running_at(const CachePlan& plan, std::int64_t tokens);

/// Plans every combination, replays the workload through its tree, and picks as `recommend` does: concurrency is
/// running_at. Deterministic. Throws InputError where none runs the requests demanded, and for an empty workload;
/// SpecError where none can be planned, or every request is refused for its length. Pre: the release has radix pools.
RadixRecommendation recommend_radix(const RadixRecommendSpec& spec);

}  // namespace hybridkv
