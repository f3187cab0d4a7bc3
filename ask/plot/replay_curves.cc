#include "ask/plot/replay_curves.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/number_text.h"
#include "planner/demand.h"
#include "simulator/sweep.h"

namespace hybridkv {

namespace {

static_assert(memory_eighths[whole_memory] == 8);

constexpr std::int64_t most_series_requests = 1000;

/// The cache with another amount of memory.
CacheGeometry sized(const CacheGeometry& geometry, std::int64_t eighths) {
  CacheGeometry part = geometry;
  const auto resize = [&](std::int64_t ids) { return std::max<std::int64_t>(2, Checked(ids) * eighths / 8); };
  if (geometry.shares_large_pages()) {
    part.set_large_pages(resize(geometry.num_large_pages()));
    return part;
  }
  part.num_blocks = resize(geometry.num_blocks);
  for (std::int64_t& ids : part.more_arenas) ids = resize(ids);
  return part;
}

}  // namespace

std::vector<std::int64_t> memories_around(std::int64_t memory_bytes) {
  std::vector<std::int64_t> memories;
  for (const std::int64_t eighths : memory_eighths) memories.push_back(Checked(memory_bytes) * eighths / 8);
  return memories;
}

std::string trace_text(const TraceSpec& trace) {
  if (!trace.file.empty() || !trace.prompts.empty()) return describe(trace);
  return fmt::format("{} made-up requests (seed {}): {}",
                     human_count(trace.max_requests.value_or(trace.synthetic.num_requests)), trace.synthetic.seed,
                     traffic_text(trace.synthetic));
}

HitRates hit_rates(const PlotInputs& inputs) {
  SweepSpec sweep;
  for (const CachePlan& plan : inputs.compared.plans) {
    const CacheGeometry geometry = replayed_cache(inputs, plan);
    for (const std::int64_t eighths : memory_eighths)
      sweep.simulations.push_back({.cache = sized(geometry, eighths), .driver = inputs.simulate.driver});
    CacheGeometry unlimited = geometry;
    unlimited.unlimited_pool = true;
    sweep.simulations.push_back({.cache = unlimited, .driver = inputs.simulate.driver});
  }
  const SweepResult result = run_sweep(*open_trace(inputs.simulate.trace), sweep);
  HitRates rates{.trace = trace_text(inputs.simulate.trace), .plans = {}};
  auto next = result.caches.begin();
  for (std::size_t i = 0; i < inputs.compared.plans.size(); ++i) {
    auto& of_plan = rates.plans.emplace_back();
    for (std::size_t at = 0; at < std::size(memory_eighths); ++at) of_plan.by_memory.push_back((next++)->blocks());
    of_plan.unlimited = (next++)->blocks();
  }
  return rates;
}

BlocksInUse blocks_in_use(const PlotInputs& inputs) {
  TraceSpec trace = inputs.simulate.trace;
  trace.max_requests = std::min(trace.max_requests.value_or(most_series_requests), most_series_requests);
  BlocksInUse blocks{.trace = trace_text(trace), .driver = inputs.simulate.driver, .plans = {}, .usable_ids = {}};
  // Of requests one at a time there is nothing to see.
  if (blocks.driver.kind == DriverKind::one_at_a_time) blocks.driver.kind = DriverKind::closed_loop;
  SweepSpec sweep;
  for (const CachePlan& plan : inputs.set.plans) {
    sweep.simulations.push_back({.cache = replayed_cache(inputs, plan), .driver = blocks.driver});
    blocks.usable_ids.push_back(usable_ids(plan).total());
  }
  for (const ReplayedIndex& cache : run_sweep(*open_trace(trace), sweep).caches)
    blocks.plans.push_back(cache.blocks());
  return blocks;
}

}  // namespace hybridkv
