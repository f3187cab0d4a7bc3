#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/named_values.h"
#include "clock/engine_loop.h"
#include "clock/served_times.h"
#include "clock/step_clock.h"
#include "simulator/schedule/step_work.h"

namespace hybridkv {

/// How requests reach the engine.
enum class DriverKind {
  one_at_a_time,  ///< prefill only, each request to its end before the next: what the replays of real engines did
  closed_loop,    ///< a fixed number of users, in flight or thinking; prefill and decode share the budget of a step
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

/// How a trace is driven through one cache, or through several behind a router.
struct DriverSpec {
  DriverKind kind = DriverKind::one_at_a_time;
  std::int64_t in_flight = 1;  ///< K of the closed loop: waiting and running requests together, >= 1
  CostModel cost;              ///< the open loop needs one that advances time
  std::shared_ptr<const StepClock> clock;  ///< of the model on a machine, in place of cost; null: none
  /// With a clock: how an engine without pools of blocks puts steps together, and what requests are held against.
  LoopRules loop;
  ServiceLimits limits;
  double rate = 1;             ///< open loop: requests come so many times as fast as the trace says, > 0
  double slowness = 1;         ///< steps take so many times as long, > 0
  double host_bytes_per_second = 50e9;  ///< by a clock: at which caches without blocks load from the host, > 0
  double think_seconds = 0;    ///< closed loop: from the end of a user's request to the next one, >= 0
  bool operator==(const DriverSpec&) const = default;
};

/// Throws SpecError, path "driver.FIELD", for numbers that no driver takes.
void check_driver(const DriverSpec& driver);

}  // namespace hybridkv
