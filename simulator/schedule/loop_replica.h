#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "clock/engine_loop.h"
#include "clock/served_times.h"
#include "simulator/schedule/driver_spec.h"
#include "simulator/schedule/replica.h"

namespace hybridkv {

/// What a cache had of a prompt.
struct FoundPrefix {
  std::int64_t tokens = 0;  ///< that need not be computed
  double load_seconds = 0;  ///< that bringing it back from memory behind the cache takes
};

/// An engine's steps by a clock, where it is told what a cache found of each request as it comes: for caches that are
/// replayed without time, for what would be without any cache, and for what generates behind prompts of others.
class LoopReplica final : public Replica {
 public:
  /// Nothing: the request is not served.
  using Found = std::function<std::optional<FoundPrefix>(const TraceRequest&, std::span<const TokenRun> prompt)>;

  /// Pre: driver.clock. `reads_prompts`: does `found` look at what prompts consist of?
  LoopReplica(const DriverSpec& driver, Found found, bool reads_prompts);
  /// One that is given requests whose prompts others computed, and whose caches have arrived. Pre: driver.clock.
  static std::unique_ptr<LoopReplica> behind_prompts(const DriverSpec& driver);

  void pass_until(double seconds) override {
    if (loop_.idle()) now_ = std::max(now_, seconds);
  }
  void submit(const TraceRequest& request, std::span<const TokenRun> prompt) override;
  std::int64_t num_in_flight() const override { return loop_.num_running() + loop_.num_waiting(); }
  std::int64_t waiting_tokens() const override { return loop_.waiting_tokens(); }
  void step(double until) override;
  double now() const override { return now_; }
  std::int64_t steps() const override { return steps_; }
  bool reads_prompts() const override { return reads_prompts_; }

  const ServedTimes& times() const { return times_; }

 private:
  std::shared_ptr<const StepClock> clock_;
  Found found_;
  bool reads_prompts_;
  double slowness_;
  bool prefilled_ = false;  // all of its requests
  EngineLoop loop_;
  ServedTimes times_;
  std::unordered_map<std::int64_t, RequestTimes> requests_;  // in flight, by index
  double now_ = 0;
  double step_start_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace hybridkv
