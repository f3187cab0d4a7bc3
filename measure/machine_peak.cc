#include "measure/machine_peak.h"

#include "base/error.h"
#include "measure/best_rate.h"
#include "measure/peak_loops.h"

namespace hybridkv {

bool is_available(Arithmetic arithmetic) { return peak_loop(arithmetic).has_value(); }

double peak_flops_per_second(Arithmetic arithmetic, std::int64_t threads) {
  const std::optional<PeakLoop> loop = peak_loop(arithmetic);
  expects(loop.has_value(), "this machine can compute so");
  const auto rate_of = [&](std::int64_t steps, std::int64_t together, int rounds) {
    return best_rate(together, rounds, [&](std::int64_t, std::int64_t) {
      loop->run(steps);
      return loop->flops_of_step * static_cast<double>(steps);
    });
  };
  // So long that its beginning and its end do not count, so short that some are not interrupted.
  constexpr double round_seconds = 5e-4;
  const auto steps = static_cast<std::int64_t>(round_seconds * rate_of(1000, 1, 8) / loop->flops_of_step) + 1;
  return rate_of(steps, threads, 32);
}

}  // namespace hybridkv
