#include "simulator/schedule/driver_spec.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace hybridkv {

void check_driver(const DriverSpec& driver) {
  if (driver.in_flight < 1)
    throw SpecError("driver.in_flight", fmt::format("must be at least 1, is {}", driver.in_flight));
  if (!(driver.think_seconds >= 0 && driver.think_seconds < 1e9))
    throw SpecError("driver.think_seconds",
                    fmt::format("is a number of seconds >= 0, not {}", driver.think_seconds));
  if (driver.think_seconds > 0 && driver.kind != DriverKind::closed_loop)
    throw SpecError("driver.think_seconds",
                    "users who think send one request after the other; take driver closed_loop");
  const CostModel& cost = driver.cost;
  for (const auto& [value, name] : {std::pair{cost.per_prefill_token, "per_prefill_token"},
                                    std::pair{cost.per_decode_step, "per_decode_step"},
                                    std::pair{cost.per_copied_state, "per_copied_state"}})
    if (!(value >= 0 && value < 1e9))
      throw SpecError(fmt::format("driver.cost.{}", name), fmt::format("is a number of seconds >= 0, not {}", value));
  if (!(driver.host_bytes_per_second > 0))
    throw SpecError("driver.host_bandwidth", fmt::format("must be more than 0, is {}", driver.host_bytes_per_second));
  for (const auto& [value, path] : {std::pair{driver.rate, "driver.rate"}, {driver.slowness, "driver.slowness"}})
    if (!(value > 0 && value < 1e9)) throw SpecError(path, fmt::format("is a number above 0, not {}", value));
  if (driver.kind == DriverKind::open_loop && !driver.clock && cost.per_prefill_token + cost.per_decode_step <= 0)
    throw SpecError("driver.cost", "the open loop needs seconds per prefill token or per decode step above 0");
}

}  // namespace hybridkv
