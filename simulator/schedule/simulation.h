#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "clock/served_times.h"
#include "simulator/schedule/copy_counter.h"
#include "simulator/schedule/driver_spec.h"
#include "simulator/schedule/replica.h"
#include "simulator/schedule/scheduler.h"
#include "simulator/schedule/simulation_stats.h"
#include "simulator/trace/trace.h"

namespace hybridkv {

class TraceDriver;

/// One cache of blocks under one driver: takes batches of a trace in order and adds up what happens. As a replica it is
/// driven from outside, and `stats` takes the place of `finish`.
///
/// Memory grows with the pool and the requests in flight or waiting for others, not with the trace but where copies are
/// counted. Deterministic: the same requests give the same numbers however they are cut into batches.
class Simulation final : public Replica {
 public:
  /// `on_record`, where set, gets the record of every request in the order in which they end.
  /// Throws SpecError for an unusable geometry or driver, ResourceError where the pool does not fit memory.
  explicit Simulation(const CacheGeometry& geometry, const DriverSpec& driver = {},
                      std::function<void(const RequestRecord&)> on_record = {});
  ~Simulation() override;

  /// From now on also says what exact copies of earlier prompts hit (SimulationStats::copies). Memory then grows with
  /// the distinct prompts, as a CopyCounter's, and a request costs a tenth of a microsecond more.
  void count_copies() { seen_.emplace(); }
  void consume(const TraceBatch& batch);
  /// Runs what is still in flight to its end. To be called once, after the last batch.
  SimulationStats finish();
  /// What happened. To be called once, when nothing is in flight any more.
  SimulationStats stats();

  void pass_until(double seconds) override {
    if (scheduler_.num_in_flight() == 0) clock_ = std::max(clock_, seconds);
  }
  void submit(const TraceRequest& request, std::span<const TokenRun> prompt) override;
  std::int64_t num_in_flight() const override { return scheduler_.num_in_flight(); }
  std::int64_t waiting_tokens() const override { return scheduler_.waiting_tokens(); }
  double usage() const override;
  void step(double until) override;
  double now() const override { return clock_; }
  std::int64_t steps() const override { return stats_.steps; }

  /// The engine inside, for checks and for dumps of block tables.
  const Scheduler& scheduler() const { return scheduler_; }
  Scheduler& scheduler() { return scheduler_; }
  /// Where set, called as a request reaches the engine, also with one that it refuses as too long.
  std::function<void(const TraceRequest&, std::span<const TokenRun> prompt)> on_submit;
  /// Where set, called in every step once its blocks are taken and published, before anything is released.
  std::function<void()> after_schedule;
  /// Where set, called at the end of every step.
  std::function<void()> after_step;

 private:
  void turn_away(const TraceRequest& request);
  void sample();
  void record(const RequestRecord& record);
  void count_copy(const TraceRequest& request, std::span<const TokenRun> prompt);

  DriverSpec driver_;
  std::function<void(const RequestRecord&)> on_record_;
  SimulationStats stats_;
  Scheduler scheduler_;
  std::optional<CopyCounter> seen_;  // where copies are counted
  std::int64_t ended_prompt_tokens_ = 0;  // of the prompts that the engine takes, however they ended
  std::unordered_map<std::int64_t, std::int64_t> predicted_hits_;  // of the copies in flight, by request index
  ServedTimes times_;  // by a clock
  double clock_ = 0;
  std::unique_ptr<TraceDriver> trace_;  // where nobody else drives it
};

}  // namespace hybridkv
