#include "ask/simulate.h"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "ask/plan.h"
#include "ask/simulate_request.h"
#include "base/error.h"
#include "base/number_text.h"
#include "simulator/closed_form.h"
#include "simulator/plan_geometry.h"
#include "simulator/token_exact_bound.h"
#include "simulator/trace_spec.h"

namespace hybridkv {

namespace {

/// Of requests that found nothing; the others say nothing of a cold cache.
std::vector<std::int64_t> cold_checkpoints(const CacheGeometry& geometry, const RequestRecord& request) {
  if (request.hit_tokens > 0 || request.uncached_common > 0 || request.status != RequestStatus::ok) return {};
  return checkpoint_positions(geometry, request.input_length);
}

/// Reads the trace again where a cache hits nothing, to say why.
void find_repeats(SimulateAnswer& answer, const TraceSpec& trace) {
  std::map<std::optional<std::int64_t>, std::int64_t> longest;  // by max_model_len
  for (const SimulationStats& stats : answer.result.stats) {
    const bool asked = stats.hit_tokens == 0 && stats.prompt_tokens > 0 && stats.geometry.caches_prefixes();
    answer.longest_repeats.push_back(std::nullopt);
    if (!asked) continue;
    const std::optional<std::int64_t>& limit = stats.geometry.scheduler.max_model_len;
    if (!longest.contains(limit)) {
      TokenExactBound exact(limit);
      const std::unique_ptr<TraceSource> source = open_trace(trace);
      for (TraceBatch batch; source->next(batch);) exact.consume(batch);
      longest.emplace(limit, exact.longest_hit());
    }
    answer.longest_repeats.back() = longest.at(limit);
  }
}

}  // namespace

std::vector<CacheGeometry> planned_caches(const Scenario& scenario) {
  std::vector<CacheGeometry> caches;
  for (const CachePlan& plan : plan_scenario(scenario, scenario.pack_sizes).plans) {
    try {
      CacheGeometry geometry = geometry_of(plan, scenario.engine);
      const std::vector<std::int64_t>& lengths = scenario.limits.max_model_lens;
      for (const std::int64_t length : lengths) {
        geometry.name = fmt::format("N = {}", plan.attention_pack_size);
        if (lengths.size() > 1) geometry.name += fmt::format(", L = {}", human_count(length));
        geometry.scheduler.max_model_len = length;
        caches.push_back(with_settings(geometry, scenario.simulate, plan));
      }
    } catch (const SpecError& error) {
      throw located(scenario_error(error), scenario);
    }
  }
  return caches;
}

std::vector<CacheGeometry> bare_caches(const BareCaches& described, const SimulateRequest& request) {
  std::vector<CacheGeometry> caches;
  for (const CacheMode mode : described.modes)
    for (const std::int64_t block : described.block_sizes)
      for (const std::int64_t blocks : described.num_blocks) {
        CacheGeometry geometry{.block_size_tokens = block, .num_blocks = blocks,
                               .attention_groups = described.attention_groups,
                               .state_groups = described.state_groups, .mode = mode};
        geometry.name = fmt::format("{} x {} {}", block, blocks,
                                    geometry.state_groups > 0 ? to_string(mode) : "attention only");
        if (described.max_num_batched_tokens) geometry.max_num_batched_tokens = *described.max_num_batched_tokens;
        if (request.host_memory_bytes)
          throw SpecError("simulate.host_memory", "what a block takes on the host follows from a plan, and this cache "
                                                  "has none; name a scenario, or leave it out");
        caches.push_back(with_settings(geometry, request));
      }
  return caches;
}

SimulateAnswer simulate(const SimulateQuestion& question, const SimulateWatch& watch) {
  const SimulateRequest& request = question.request;
  SimulateAnswer answer{.trace = describe(request.trace), .driver = request.driver};
  SweepSpec sweep{.upper_bounds = request.upper_bounds, .losses = request.losses};
  for (const CacheGeometry& geometry : question.caches) {
    validate(geometry);
    sweep.simulations.push_back({.geometry = geometry, .driver = answer.driver, .counts_copies = true});
  }
  std::vector<std::vector<RequestRecord>> first_records(sweep.simulations.size());
  for (std::size_t i = 0; i < sweep.simulations.size(); ++i)
    sweep.simulations[i].on_record = [&records = first_records[i],
                                      next = i == 0 ? watch.on_record : nullptr](const RequestRecord& record) {
      if (std::ssize(records) <= most_listed_requests) records.push_back(record);
      if (next) next(record);
    };
  sweep.simulations.front().on_loss = watch.on_loss;
  const std::unique_ptr<TraceSource> trace = open_trace(request.trace);
  if (watch.on_start) watch.on_start();
  sweep.on_progress = watch.on_progress;
  answer.result = run_sweep(*trace, sweep);
  if (const auto* file = dynamic_cast<const TraceFile*>(trace.get())) answer.bad_lines = file->bad_lines();
  for (const SimulationStats& stats : answer.result.stats)
    answer.longest_requests.push_back(longest_request(stats.geometry));
  find_repeats(answer, request.trace);
  if (answer.result.requests == 0 || answer.result.requests > most_listed_requests) return answer;
  for (std::size_t i = 0; i < first_records.size(); ++i) {
    std::vector<ListedRequest>& listed = answer.requests.emplace_back();
    for (RequestRecord& record : first_records[i])
      listed.push_back({record, cold_checkpoints(answer.result.stats[i].geometry, record)});
  }
  return answer;
}

}  // namespace hybridkv
