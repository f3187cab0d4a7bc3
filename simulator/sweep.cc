#include "simulator/sweep.h"

#include <memory>

#include "base/error.h"
#include "simulator/loss_ledger.h"
#include "simulator/token_exact_bound.h"
#include "simulator/trace_totals.h"

namespace hybridkv {

namespace {

/// A cache of blocks.
class BlockReplay final : public Replay {
 public:
  BlockReplay(const CacheGeometry& geometry, const SimulationSpec& spec, bool with_records, SimulationStats& result)
      : simulation_(geometry, spec.driver, with_records ? spec.on_record : std::function<void(const RequestRecord&)>()),
        result_(result) {
    if (with_records && spec.counts_copies) simulation_.count_copies();
  }
  void consume(const TraceBatch& batch) override { simulation_.consume(batch); }
  void finish() override { result_ = simulation_.finish(); }

 private:
  Simulation simulation_;
  SimulationStats& result_;
};

/// The same with a ledger that looks on.
class WatchedReplay final : public Replay {
 public:
  WatchedReplay(const SimulationSpec& spec, SimulationStats& result, LossStats& losses)
      : ledger_(spec.geometry, spec.on_loss),
        simulation_(spec.geometry, spec.driver,
                    [this, on_record = spec.on_record](const RequestRecord& record) {
                      if (on_record) on_record(record);
                      ledger_.end(record);
                    }),
        result_(result),
        losses_(losses) {
    ledger_.watch(simulation_);
    if (spec.counts_copies) simulation_.count_copies();
  }
  void consume(const TraceBatch& batch) override { simulation_.consume(batch); }
  void finish() override {
    result_ = simulation_.finish();
    losses_ = ledger_.stats();
  }

 private:
  LossLedger ledger_;
  Simulation simulation_;
  SimulationStats& result_;
  LossStats& losses_;
};

}  // namespace

SweepResult run_sweep(TraceSource& trace, const SweepSpec& spec) {
  if (spec.simulations.empty()) throw SpecError("sweep.simulations", "there is no geometry to simulate");
  if (spec.threads < 0) throw SpecError("sweep.threads", "must be 0 (all cores) or more");
  const std::size_t count = spec.simulations.size();
  SweepResult result;
  result.stats.resize(count);
  if (spec.upper_bounds) result.unlimited.resize(count);
  if (spec.losses) result.losses.resize(count);
  std::vector<std::unique_ptr<Replay>> replays;
  TokenExactBounds exact;
  for (std::size_t i = 0; i < count; ++i) {
    const SimulationSpec& one = spec.simulations[i];
    if (spec.losses)
      replays.push_back(std::make_unique<WatchedReplay>(one, result.stats[i], result.losses[i]));
    else
      replays.push_back(std::make_unique<BlockReplay>(one.geometry, one, true, result.stats[i]));
    if (!spec.upper_bounds) continue;
    CacheGeometry unlimited = one.geometry;
    unlimited.unlimited_pool = true;
    replays.push_back(std::make_unique<BlockReplay>(unlimited, one, false, result.unlimited[i]));
    exact.add(one.geometry.scheduler.max_model_len, replays);
  }
  const TraceTotals& totals = add_totals(replays);
  run_replays(trace, replays, spec.threads, spec.on_progress);
  result.requests = totals.requests();
  result.prompt_tokens = totals.prompt_tokens();
  if (spec.upper_bounds)
    for (const SimulationSpec& one : spec.simulations)
      result.token_exact_hit_tokens.push_back(exact.of(one.geometry.scheduler.max_model_len).hit_tokens());
  return result;
}

}  // namespace hybridkv
