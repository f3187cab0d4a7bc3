#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/named_values.h"
#include "clock/engine_loop.h"
#include "clock/served_times.h"
#include "simulator/schedule/copy_counter.h"
#include "simulator/schedule/dependency_queue.h"
#include "simulator/schedule/scheduler.h"
#include "simulator/schedule/simulation_stats.h"
#include "simulator/trace/trace.h"

namespace hybridkv {

/// How requests reach the engine.
enum class DriverKind {
  one_at_a_time,  ///< prefill only, each request to its end before the next: what the replays of real engines did
  closed_loop,    ///< a fixed number in flight; prefill and decode share the budget of a step
  open_loop,      ///< by the timestamps and dependencies of the trace, time advancing by the cost model
};
inline constexpr auto driver_kind_names = std::to_array<Named<DriverKind>>(
    {{DriverKind::one_at_a_time, "one_at_a_time"},
     {DriverKind::closed_loop, "closed_loop"},
     {DriverKind::open_loop, "open_loop"}});

constexpr std::string_view to_string(DriverKind value) { return name_in(driver_kind_names, value); }
constexpr std::optional<DriverKind> parse_driver_kind(std::string_view name) {
  return value_in(driver_kind_names, name);
}

/// What a step costs without a clock, in seconds, linear in what it does.
struct CostModel {
  double per_prefill_token = 0;  ///< of every prompt token computed
  double per_decode_step = 0;    ///< of every step in which at least one request decodes
  double per_copied_state = 0;   ///< of every state copied, per recurrent group
  double step_seconds(const StepWork& work) const {
    return per_prefill_token * static_cast<double>(work.prefill_tokens) +
           (work.decoded_requests > 0 ? per_decode_step : 0) +
           per_copied_state * static_cast<double>(work.copied_states);
  }
  bool operator==(const CostModel&) const = default;
};

/// How a trace is driven through one cache.
struct DriverSpec {
  DriverKind kind = DriverKind::one_at_a_time;
  std::int64_t in_flight = 1;  ///< K of the closed loop: waiting and running requests together, >= 1
  CostModel cost;              ///< the open loop needs one that advances time
  std::shared_ptr<const StepClock> clock;  ///< of the model on a machine, in place of cost; null: none
  /// With a clock: how an engine without pools of blocks puts steps together, and what requests are held against.
  LoopRules loop;
  ServiceLimits limits;
  double rate = 1;             ///< open loop: requests come so many times as fast as the trace says, > 0
  bool operator==(const DriverSpec&) const = default;
};

/// One cache under one driver: takes batches of a trace in order and adds up what happens.
///
/// Memory grows with the pool and the requests in flight or waiting for others, not with the trace but where copies are
/// counted. Deterministic: the same requests give the same numbers however they are cut into batches.
class Simulation {
 public:
  /// `on_record`, where set, gets the record of every request in the order in which they end.
  /// Throws SpecError for an unusable geometry or driver, ResourceError where the pool does not fit memory.
  explicit Simulation(const CacheGeometry& geometry, const DriverSpec& driver = {},
                      std::function<void(const RequestRecord&)> on_record = {});

  /// From now on also says what exact copies of earlier prompts hit (SimulationStats::copies). Memory then grows with
  /// the distinct prompts, as a CopyCounter's, and a request costs a tenth of a microsecond more.
  void count_copies() { seen_.emplace(); }
  void consume(const TraceBatch& batch);
  /// Runs what is still in flight to its end. To be called once, after the last batch.
  SimulationStats finish();

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
  // Runs the open loop until `seconds`; requests that became ready on the way start.
  void advance_to(double seconds);
  void turn_away(const TraceRequest& request);
  void submit(const TraceRequest& request, std::span<const TokenRun> prompt);
  void step();
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
  DependencyQueue waiting_;  // of the open loop
  ServedTimes times_;        // by a clock
  double clock_ = 0;
  double last_arrival_ = 0;
};

}  // namespace hybridkv
