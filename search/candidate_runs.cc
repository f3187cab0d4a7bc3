#include "search/candidate_runs.h"

#include "simulator/sweep.h"

namespace hybridkv {

namespace {

constexpr std::size_t most_simulations_at_once = 64;
constexpr std::int64_t most_blocks_at_once = std::int64_t{1} << 23;

CacheGeometry geometry_of(const PlannedLayout& layout, const Candidate& candidate) {
  CacheGeometry geometry = layout.geometry;
  geometry.retention_interval_tokens = candidate.retention_tokens;
  geometry.match_unit_tokens = candidate.match_unit_tokens;
  return geometry;
}

void fill(Candidate& candidate, const DriverSpec& driver, const SimulationStats& stats,
          const WorkloadFacts& workload) {
  candidate.prompt_tokens = stats.taken_prompt_tokens;
  candidate.hit_tokens = stats.hit_tokens;
  candidate.uncached_common_tokens = stats.uncached_common_tokens();
  candidate.requests_with_hit = stats.requests_with_hit;
  candidate.unserved_requests = stats.refused + stats.stalled;
  candidate.preemptions = stats.preemptions;
  candidate.evictions = stats.pool.evictions;
  candidate.copied_states = stats.copied_states;
  candidate.modelled = stats.modelled;
  candidate.overload = overload_of(driver, stats);
  candidate.objectives.reprefilled_tokens = workload.repeated_tokens - stats.hit_tokens + stats.reprefilled_tokens;
}

}  // namespace

double work_of(const PlannedLayout& layout, const Candidate& candidate, const WorkloadFacts& workload) {
  const CacheGeometry geometry = geometry_of(layout, candidate);
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
    std::size_t end = first;
    for (; end < candidates.size() && end - first < most_simulations_at_once; ++end) {
      const CacheGeometry geometry = geometry_of(layouts[candidates[end].layout], candidates[end]);
      if (end > first && blocks + geometry.total_blocks() > most_blocks_at_once) break;
      blocks += geometry.total_blocks();
      sweep.simulations.push_back({.cache = geometry, .driver = spec.driver});
    }
    const auto done = static_cast<std::int64_t>(first);
    const auto batch = static_cast<double>(end - first);
    tell(done);
    sweep.on_progress = [&](const SweepProgress& at) {
      tell(done + static_cast<std::int64_t>(at.fraction * batch));
    };
    const std::unique_ptr<TraceSource> trace = spec.open_trace();
    const SweepResult swept = run_sweep(*trace, sweep);
    for (std::size_t i = first; i < end; ++i)
      fill(candidates[i], spec.driver, swept.caches[i - first].blocks(), workload);
    first = end;
  }
}

LossStats candidate_losses(const RecommendSpec& spec, const PlannedLayout& layout, const Candidate& candidate) {
  SweepSpec sweep{.losses = true, .threads = spec.threads};
  sweep.simulations.push_back({.cache = geometry_of(layout, candidate), .driver = spec.driver});
  const std::unique_ptr<TraceSource> trace = spec.open_trace();
  return *run_sweep(*trace, sweep).caches.front().losses;
}

}  // namespace hybridkv
