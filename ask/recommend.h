#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ask/layout_bound.h"
#include "engines/serve.h"
#include "scenarios/scenario.h"
#include "search/recommendation.h"
#include "simulator/reuse_loss.h"

namespace hybridkv {

/// More at once than any engine has; WeighQuestion::min_concurrency is below.
inline constexpr double most_requests = 1e15;

/// How candidates are weighed, beside what the scenario says.
struct WeighQuestion {
  std::optional<std::int64_t> at_length;  ///< L of bytes and concurrency, tokens, >= 1; default: the longest length
  std::optional<double> min_concurrency;  ///< requests of L tokens that must fit at once
  double give_up_percent = 5;  ///< most of the default's concurrency that the pick may lack, 0 .. 100
  std::string workload;        ///< the trace in words; empty: as describe() says it
};

/// What to search under an engine with blocks.
struct RecommendQuestion : WeighQuestion {
  SearchSpace space;                             ///< empty lists: default_search_space
  std::vector<std::int64_t> kernel_blocks;       ///< that the backend supports, tokens; empty: the scenario's
  std::optional<std::int64_t> min_kernel_block;  ///< smallest kernel block that is fast enough, tokens
  std::optional<SearchKind> search;              ///< default: as much as takes a few seconds
};

/// A candidate beside which only the pack differs: the pick's mode, everything else as asked.
struct PlainPack {
  std::size_t candidate = 0;                ///< position in Recommendation::candidates
  std::optional<std::size_t> beaten_by;     ///< of those that beat it in all objectives the one of fewest bytes
};

/// A candidate as its engine is told it.
struct ServedPick {
  std::vector<EngineSetting> settings;  ///< all of its choices
  ServeCommand serve;
};

/// What was asked and is told, whatever the engine.
struct RecommendBasics {
  std::string model;
  EngineSpec engine;                    ///< as asked
  std::string workload;                 ///< "prompts of 370 tokens, …": what was replayed
  TraceSpec trace;                      ///< the same; a made-up one with its number of requests
  DriverSpec driver;
  std::optional<double> min_concurrency;
  PickRule rule;
  ServedPick pick;
  std::optional<LayoutBound> pick_bound;  ///< of its layout; nothing where requests run beside each other
};

/// What was searched, and what was found.
struct RecommendAnswer : RecommendBasics {
  Recommendation result;
  std::vector<PlainPack> plain_packs;   ///< by pack size
  std::optional<LossStats> pick_losses; ///< where the workload is a trace's file
  std::optional<ServedPick> unpacked_pick;  ///< where Recommendation::unpacked_pick is
};

/// What is asked of every engine; the trace of a made-up workload is no longer than a search takes.
RecommendBasics basics_of(const Scenario& scenario, const WeighQuestion& question);

/// L: as asked, or the longest length.
std::int64_t weighed_length(const Scenario& scenario, const WeighQuestion& question);

/// The question of one candidate: the scenario with its choices, and with what the search leaves out left out.
Scenario scenario_of(const Scenario& scenario, const RecommendQuestion& question, const RecommendAnswer& answer,
                     std::size_t candidate);

/// What of the scenario no search of settings counts, a sentence each.
std::vector<std::string> left_out_of_search(const Scenario& scenario);

/// The scenario without what left_out_of_search names.
Scenario searched_scenario(Scenario scenario);

/// Searches layouts for the scenario's model under its trace. Throws InputError with the place of the value at fault,
/// and as `recommend` where nothing meets the limits.
RecommendAnswer recommend_scenario(const Scenario& scenario, const RecommendQuestion& question,
                                   const std::function<void(const RecommendProgress&)>& progress = {});

}  // namespace hybridkv
