#include "search/candidate_runs.h"

#include <utility>

#include "simulator/sweep.h"

namespace hybridkv {

namespace {

constexpr std::size_t most_simulations_at_once = 64;
constexpr std::int64_t most_blocks_at_once = std::int64_t{1} << 23;
constexpr std::int64_t blocks_of_tree = most_blocks_at_once / 32;  // what a tree takes follows from the trace

/// Pre: its layout has a cache.
AnyCache cache_of(const PlannedLayout& layout, const Candidate& candidate) {
  AnyCache cache = *layout.cache;
  if (auto* const geometry = std::get_if<CacheGeometry>(&cache)) {
    geometry->retention_interval_tokens = candidate.retention_tokens;
    geometry->match_unit_tokens = candidate.match_unit_tokens;
  }
  return cache;
}

std::int64_t blocks_of(const AnyCache& cache) {
  const auto* const geometry = std::get_if<CacheGeometry>(&cache);
  return geometry != nullptr ? geometry->total_blocks() : blocks_of_tree;
}

/// What only its index counts.
void fill_of_index(Candidate& candidate, const DriverSpec& driver, const IndexStats& stats) {
  if (const auto* const tree = std::get_if<TreeStats>(&stats)) candidate.evictions = tree->evicted_tokens;
  const auto* const blocks = std::get_if<SimulationStats>(&stats);
  if (blocks == nullptr) return;
  candidate.preemptions = blocks->preemptions;
  candidate.evictions = blocks->pool.evictions;
  candidate.copied_states = blocks->copied_states;
  candidate.modelled = blocks->modelled;
  candidate.overload = overload_of(driver, *blocks);
  candidate.objectives.reprefilled_tokens += blocks->reprefilled_tokens;
}

void fill(Candidate& candidate, const DriverSpec& driver, const IndexStats& stats, const WorkloadFacts& workload) {
  static_cast<ReplayCounts&>(candidate) = counts_of(stats);
  candidate.objectives.reprefilled_tokens = workload.repeated_tokens - candidate.hit_tokens;
  fill_of_index(candidate, driver, stats);
}

/// Of a layout without a cache: every prompt is computed from its start.
void fill_without_cache(Candidate& candidate, const WorkloadFacts& workload) {
  static_cast<ReplayCounts&>(candidate) = {};
  candidate.requests = workload.requests;
  candidate.prompt_tokens = candidate.taken_prompt_tokens = workload.prompt_tokens;
  candidate.objectives.reprefilled_tokens = workload.repeated_tokens;
}

}  // namespace

double work_of(const PlannedLayout& layout, const Candidate& candidate, const WorkloadFacts& workload) {
  if (!layout.has_blocks()) return 0;
  const auto geometry = std::get<CacheGeometry>(cache_of(layout, candidate));
  const auto requests = static_cast<double>(workload.requests);
  const auto tokens = static_cast<double>(workload.prompt_tokens);
  const bool states = geometry.state_groups > 0 && geometry.mode == CacheMode::all;
  const double per_block = states ? 1 + static_cast<double>(geometry.state_groups) / 3 : 1;
  return 16 * requests + per_block * tokens / static_cast<double>(geometry.common_block()) +
         tokens / 16 / static_cast<double>(geometry.match_unit());
}

void simulate_candidates(const RecommendSpec& spec, const WorkloadFacts& workload,
                         const std::vector<PlannedLayout>& layouts, std::string_view what,
                         std::vector<Candidate>& candidates) {
  const auto tell = [&](std::int64_t done) {
    if (spec.on_progress) spec.on_progress({what, done, std::ssize(candidates)});
  };
  for (std::size_t first = 0; first < candidates.size();) {
    SweepSpec sweep;
    sweep.threads = spec.threads;
    std::int64_t blocks = 0;
    std::vector<Candidate*> replayed;
    std::size_t end = first;
    for (; end < candidates.size() && end - first < most_simulations_at_once; ++end) {
      const PlannedLayout& layout = layouts[candidates[end].layout];
      if (!layout.cache) {
        fill_without_cache(candidates[end], workload);
        continue;
      }
      AnyCache cache = cache_of(layout, candidates[end]);
      if (!replayed.empty() && blocks + blocks_of(cache) > most_blocks_at_once) break;
      blocks += blocks_of(cache);
      sweep.simulations.push_back({.cache = std::move(cache), .driver = spec.driver});
      replayed.push_back(&candidates[end]);
    }
    const auto done = static_cast<std::int64_t>(first);
    const auto batch = static_cast<double>(end - first);
    first = end;
    tell(done);
    if (replayed.empty()) continue;
    sweep.on_progress = [&](const SweepProgress& at) {
      tell(done + static_cast<std::int64_t>(at.fraction * batch));
    };
    const std::unique_ptr<TraceSource> trace = spec.open_trace();
    const SweepResult swept = run_sweep(*trace, sweep);
    for (std::size_t i = 0; i < replayed.size(); ++i)
      fill(*replayed[i], spec.driver, swept.caches[i].index, workload);
  }
}

LossStats candidate_losses(const RecommendSpec& spec, const PlannedLayout& layout, const Candidate& candidate) {
  SweepSpec sweep{.losses = true, .threads = spec.threads};
  sweep.simulations.push_back({.cache = cache_of(layout, candidate), .driver = spec.driver});
  const std::unique_ptr<TraceSource> trace = spec.open_trace();
  return *run_sweep(*trace, sweep).caches.front().losses;
}

}  // namespace hybridkv
