#include "simulator/sweep.h"

#include <memory>

#include "base/error.h"
#include "simulator/losses/token_exact_bound.h"
#include "simulator/trace/trace_totals.h"

namespace hybridkv {

namespace {

/// The same cache with a pool that never evicts; null where its index has none.
std::unique_ptr<CacheReplay> unlimited_replay(const SimulationSpec& spec) {
  const auto* const blocks = std::get_if<CacheGeometry>(&spec.cache);
  if (!blocks) return nullptr;
  CacheGeometry unlimited = *blocks;
  unlimited.unlimited_pool = true;
  return make_replay({.cache = unlimited, .driver = spec.driver});
}

}  // namespace

SweepResult run_sweep(TraceSource& trace, const SweepSpec& spec) {
  if (spec.simulations.empty()) throw SpecError("sweep.simulations", "there is no geometry to simulate");
  if (spec.threads < 0) throw SpecError("sweep.threads", "must be 0 (all cores) or more");
  std::vector<std::unique_ptr<Replay>> replays;
  const auto add = [&](std::unique_ptr<CacheReplay> replay) {
    CacheReplay* const added = replay.get();
    if (added) replays.push_back(std::move(replay));
    return added;
  };
  std::vector<CacheReplay*> limited, unlimited;  // (simulation)
  TokenExactBounds exact;
  for (SimulationSpec one : spec.simulations) {
    one.losses = one.losses || spec.losses;
    limited.push_back(add(make_replay(one)));
    unlimited.push_back(spec.upper_bounds ? add(unlimited_replay(one)) : nullptr);
    if (spec.upper_bounds) exact.add(max_model_len_of(one.cache), replays);
  }
  const TraceTotals& totals = add_totals(replays);
  run_replays(trace, replays, spec.threads, spec.on_progress);
  SweepResult result{.caches = {}, .prompt_tokens = totals.prompt_tokens(), .requests = totals.requests()};
  for (std::size_t i = 0; i < limited.size(); ++i) {
    ReplayedIndex& cache = result.caches.emplace_back(ReplayedIndex{limited[i]->result(), {}, {}});
    if (unlimited[i]) cache.unlimited = std::get<SimulationStats>(unlimited[i]->result().index);
    if (spec.upper_bounds)
      cache.token_exact_hit_tokens = exact.of(max_model_len_of(spec.simulations[i].cache)).hit_tokens();
  }
  return result;
}

}  // namespace hybridkv
