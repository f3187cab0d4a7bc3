#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ask/builder_offer.h"
#include "ask/kernels/kernel_card.h"
#include "ask/replay/layout_bound.h"
#include "engines/serve.h"
#include "planner/evidence.h"
#include "scenarios/scenario.h"
#include "search/candidate_choice.h"
#include "search/recommendation.h"
#include "simulator/losses/reuse_loss.h"

namespace hybridkv {

/// More at once than any engine has; RecommendQuestion::min_concurrency is below.
inline constexpr double most_requests = 1e15;

/// How whoever asks calls the lists of a space.
enum class AxisSpelling { flag, keyword };

/// What to search, and how candidates are weighed, beside what the scenario says.
struct RecommendQuestion {
  SearchSpace space;                             ///< empty lists: the defaults of the engine's index
  std::vector<std::int64_t> kernel_blocks;       ///< that the backend supports, tokens; empty: the scenario's
  std::optional<std::int64_t> min_kernel_block;  ///< smallest kernel block that is fast enough, tokens
  std::optional<SearchKind> search;              ///< default: as much as takes a few seconds
  std::optional<std::int64_t> at_length;  ///< L of bytes and concurrency, tokens, >= 1; default: the longest length
  std::optional<double> min_concurrency;  ///< requests of L tokens that must fit at once
  double give_up_percent = 5;  ///< most of the default's concurrency that the pick may lack, 0 .. 100
  std::string workload;        ///< the trace in words; empty: as describe() says it
  std::vector<KernelCard> kernels;  ///< layouts that they would refuse or corrupt are picked last
  AxisSpelling spelling = AxisSpelling::flag;  ///< in refusals
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

/// What was searched, and what was found.
struct RecommendAnswer {
  std::string model;
  EngineSpec engine;                    ///< as asked
  std::string workload;                 ///< "prompts of 370 tokens, …": what was replayed
  TraceSpec trace;                      ///< the same; a made-up one with its number of requests
  DriverSpec driver;
  std::optional<double> min_concurrency;
  std::optional<std::int64_t> host_memory_bytes;  ///< that checkpoints and saved prompts were held to
  PickRule rule;
  Recommendation result;
  ServedPick pick;
  Evidence pick_evidence = Evidence::run;  ///< evidence_of the pick
  bool has_successor = false;           ///< is its engine one that another release has taken the place of?
  bool packs_as_released = false;       ///< no pack was searched that no release has
  std::optional<LayoutBound> pick_bound;  ///< of its layout; nothing where requests run beside each other
  std::vector<PlainPack> plain_packs;   ///< by pack size
  std::optional<BuilderOffer> builder;  ///< where packs were left out that nobody asked to leave out
  std::optional<LossStats> pick_losses; ///< where the workload is a trace's file
  std::optional<ServedPick> unpacked_pick;  ///< where Recommendation::unpacked_pick is
  std::vector<std::string> commands;           ///< that repeat the pick's numbers, ready for a shell: add_commands
  std::vector<std::string> unpacked_commands;  ///< of the pick without packing, where there is one

  const Candidate& picked() const { return result.candidates[result.pick]; }
  /// What the pick does to the kernels that were asked about.
  const std::vector<KernelFit>& pick_kernels() const { return result.layout_of(result.pick).plan.kernels; }
};

/// How it is known that the engine of a candidate arranges memory so and finds as much.
Evidence evidence_of(const Recommendation& result, const Candidate& candidate);

/// What an engine is told of a candidate.
std::vector<EngineSetting> settings_of(const PlannedLayout& layout, const Candidate& candidate);

/// The question of one candidate: the scenario with its choices, and with what the search leaves out left out.
Scenario scenario_of(const Scenario& scenario, const RecommendAnswer& answer, std::size_t candidate);

/// What of the scenario no search of settings counts, a sentence each.
std::vector<std::string> left_out_of_search(const Scenario& scenario);

/// The scenario without what left_out_of_search names.
Scenario searched_scenario(Scenario scenario);

/// Searches settings for the scenario's model under its trace. Throws InputError with the place of the value at fault,
/// and as `recommend` where nothing meets the limits.
RecommendAnswer recommend_scenario(const Scenario& scenario, const RecommendQuestion& asked,
                                   const std::function<void(const RecommendProgress&)>& progress = {});

}  // namespace hybridkv
