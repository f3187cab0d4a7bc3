#include "ask/simulate_radix.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <memory>

#include "ask/plan.h"
#include "ask/simulate_request.h"
#include "base/error.h"
#include "base/number_text.h"
#include "simulator/plan_radix.h"
#include "simulator/radix_ledger.h"
#include "simulator/token_exact_bound.h"
#include "simulator/trace_spec.h"

namespace hybridkv {

namespace {

/// One cache while the trace runs through it.
struct Replayed {
  RadixReplay replay;
  std::optional<std::int64_t> max_model_len;
  std::unique_ptr<RadixLedger> ledger;  // where losses are asked for
};

RadixRecord run(Replayed& cache, const TraceRequest& request, std::span<const TokenRun> prompt) {
  if (cache.ledger) cache.ledger->expect(request, prompt);
  return cache.replay.run(request, prompt);
}

RadixRecord turned_away(const TraceRequest& request, const RadixReplay& replay) {
  RadixRecord record{.index = request.index, .input_length = request.input_length};
  record.free_tokens = replay.tree().token_pool().free_tokens();
  record.free_states = replay.tree().free_states().size();
  record.tree_tokens = replay.tree().num_tokens();
  record.tree_states = replay.tree().num_states();
  record.status = RequestStatus::too_long;
  return record;
}

}  // namespace

bool replay_decodes(const DriverSpec& driver) {
  if (driver.kind == DriverKind::one_at_a_time) return false;
  if (driver.kind == DriverKind::closed_loop && driver.in_flight == 1) return true;
  throw SpecError("simulate.driver", "a radix tree is replayed one request at a time, as the engine's own results were "
                                     "made: take one_at_a_time for prompts alone, or closed_loop with in_flight 1");
}

std::vector<RadixCache> planned_radix_caches(const Scenario& scenario) {
  const EngineSpec& engine = scenario.engine;
  const PlanSet set = plan_scenario(scenario, scenario.pack_sizes);
  RadixCache cache{.name = std::string(engine.rules->title)};
  try {
    cache.settings = radix_settings_of(set.plans.front(), scenario.model, engine);
  } catch (const SpecError& error) {
    throw located(error, scenario);
  }
  std::vector<RadixCache> caches;
  const std::vector<std::int64_t>& lengths = scenario.limits.max_model_lens;
  for (const std::int64_t length : lengths) {
    caches.push_back(cache);
    caches.back().max_model_len = length;
    if (lengths.size() > 1) caches.back().name += fmt::format(", L = {}", human_count(length));
  }
  return caches;
}

RadixAnswer simulate_radix(const SimulateRequest& request, std::vector<RadixCache> caches, const RadixWatch& watch) {
  using Clock = std::chrono::steady_clock;
  refuse_policies(request, "a radix tree");
  RadixAnswer answer{.trace = describe(request.trace), .decodes = replay_decodes(request.driver)};
  std::vector<std::unique_ptr<Replayed>> replayed;
  std::map<std::optional<std::int64_t>, TokenExactBound> exact;  // one for all caches that take the same prompts
  for (RadixCache& cache : caches) {
    cache.settings.decodes = answer.decodes;
    replayed.push_back(std::make_unique<Replayed>(
        Replayed{RadixReplay(cache.settings), cache.max_model_len, nullptr}));
    if (request.losses) replayed.back()->ledger = std::make_unique<RadixLedger>(replayed.back()->replay);
    if (request.upper_bounds) exact.try_emplace(cache.max_model_len, cache.max_model_len);
    answer.stats.push_back(
        {.name = cache.name, .settings = cache.settings, .max_model_len = cache.max_model_len});
  }
  const std::unique_ptr<TraceSource> trace = open_trace(request.trace);
  if (watch.on_start) watch.on_start();
  answer.listed.resize(caches.size());
  const Clock::time_point started = Clock::now();
  for (TraceBatch batch; trace->next(batch);) {
    for (const TraceRequest& one : batch.requests) answer.prompt_tokens += one.input_length;
    answer.requests += std::ssize(batch.requests);
    for (std::size_t i = 0; i < replayed.size(); ++i) {
      Replayed& cache = *replayed[i];
      for (const TraceRequest& one : batch.requests) {
        const RadixRecord record = refused_for_length(one.input_length, cache.max_model_len)
                                       ? turned_away(one, cache.replay)
                                       : run(cache, one, batch.prompt(one));
        const ReuseLoss loss = cache.ledger ? cache.ledger->end(record) : ReuseLoss{};
        answer.stats[i].add(record);
        if (std::ssize(answer.listed[i]) <= most_listed_requests) answer.listed[i].push_back(record);
        if (i == 0 && watch.on_record) watch.on_record(record);
        if (i == 0 && watch.on_loss && cache.ledger) watch.on_loss(record, loss);
      }
    }
    for (auto& [length, bound] : exact) bound.consume(batch);
    if (watch.on_progress)
      watch.on_progress({answer.requests, trace->progress().fraction,
                         std::chrono::duration<double>(Clock::now() - started).count()});
  }
  if (request.upper_bounds)
    for (const auto& cache : replayed)
      answer.token_exact_hit_tokens.push_back(exact.at(cache->max_model_len).hit_tokens());
  for (const auto& cache : replayed)
    if (cache->ledger) answer.losses.push_back(cache->ledger->stats());
  if (const auto* file = dynamic_cast<const TraceFile*>(trace.get())) answer.bad_lines = file->bad_lines();
  if (answer.requests > most_listed_requests) answer.listed.clear();
  return answer;
}

}  // namespace hybridkv
