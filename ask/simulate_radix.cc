#include "ask/simulate_radix.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "ask/plan.h"
#include "ask/simulate_request.h"
#include "base/error.h"
#include "base/number_text.h"
#include "simulator/plan_radix.h"
#include "simulator/radix_ledger.h"
#include "simulator/token_exact_bound.h"
#include "simulator/trace_spec.h"
#include "simulator/trace_totals.h"

namespace hybridkv {

namespace {

RadixRecord turned_away(const TraceRequest& request, const RadixReplay& replay) {
  RadixRecord record{.index = request.index, .input_length = request.input_length};
  record.free_tokens = replay.tree().token_pool().free_tokens();
  record.free_states = replay.tree().free_states().size();
  record.tree_tokens = replay.tree().num_tokens();
  record.tree_states = replay.tree().num_states();
  record.status = RequestStatus::too_long;
  return record;
}

/// Who is told of a request and, where losses are asked for, of what it lost.
using OnRequest = std::function<void(const RadixRecord&, const ReuseLoss*)>;

/// One cache under the trace.
class TreeReplay final : public Replay {
 public:
  TreeReplay(RadixStats& stats, bool losses, OnRequest on_request)
      : replay_(stats.settings),
        ledger_(losses ? std::make_unique<RadixLedger>(replay_) : nullptr),
        stats_(stats),
        on_request_(std::move(on_request)) {}

  void consume(const TraceBatch& batch) override {
    for (const TraceRequest& one : batch.requests) {
      const RadixRecord record = refused_for_length(one.input_length, stats_.max_model_len)
                                     ? turned_away(one, replay_)
                                     : run(one, batch.prompt(one));
      const ReuseLoss loss = ledger_ ? ledger_->end(record) : ReuseLoss{};
      stats_.add(record);
      on_request_(record, ledger_ ? &loss : nullptr);
    }
  }
  /// Null unless losses are asked for.
  const RadixLedger* ledger() const { return ledger_.get(); }

 private:
  RadixRecord run(const TraceRequest& request, std::span<const TokenRun> prompt) {
    if (ledger_) ledger_->expect(request, prompt);
    return replay_.run(request, prompt);
  }

  RadixReplay replay_;
  std::unique_ptr<RadixLedger> ledger_;
  RadixStats& stats_;
  OnRequest on_request_;
};

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
  refuse_policies(request, "a radix tree");
  RadixAnswer answer{.trace = describe(request.trace), .decodes = replay_decodes(request.driver)};
  for (RadixCache& cache : caches) {
    cache.settings.decodes = answer.decodes;
    answer.stats.push_back(
        {.name = cache.name, .settings = cache.settings, .max_model_len = cache.max_model_len});
  }
  answer.listed.resize(caches.size());
  std::vector<std::unique_ptr<Replay>> replays;
  std::vector<const RadixLedger*> ledgers;
  TokenExactBounds exact;
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const auto on_request = [&watch, &listed = answer.listed[i], is_first = i == 0](const RadixRecord& record,
                                                                                    const ReuseLoss* loss) {
      if (std::ssize(listed) <= most_listed_requests) listed.push_back(record);
      if (is_first && watch.on_record) watch.on_record(record);
      if (is_first && watch.on_loss && loss) watch.on_loss(record, *loss);
    };
    auto replay = std::make_unique<TreeReplay>(answer.stats[i], request.losses, on_request);
    ledgers.push_back(replay->ledger());
    replays.push_back(std::move(replay));
    if (request.upper_bounds) exact.add(caches[i].max_model_len, replays);
  }
  const TraceTotals& totals = add_totals(replays);
  const std::unique_ptr<TraceSource> trace = open_trace(request.trace);
  if (watch.on_start) watch.on_start();
  run_replays(*trace, replays, 0, watch.on_progress);
  answer.requests = totals.requests();
  answer.prompt_tokens = totals.prompt_tokens();
  for (std::size_t i = 0; i < caches.size(); ++i) {
    if (request.upper_bounds)
      answer.token_exact_hit_tokens.push_back(exact.of(caches[i].max_model_len).hit_tokens());
    if (ledgers[i]) answer.losses.push_back(ledgers[i]->stats());
  }
  if (const auto* file = dynamic_cast<const TraceFile*>(trace.get())) answer.bad_lines = file->bad_lines();
  if (answer.requests > most_listed_requests) answer.listed.clear();
  return answer;
}

}  // namespace hybridkv
