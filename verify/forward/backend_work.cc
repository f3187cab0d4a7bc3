#include "verify/forward/backend_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace hybridkv {

void BackendWork::note_difference(const AttentionOutput<float>& output, const AttentionOutput<float>& driving,
                                  AttentionBackend driver, std::int64_t layer) {
  constexpr double absolute = 1e-5, relative = 1.3e-6;
  const auto compare = [&](const std::vector<float>& got, const std::vector<float>& wanted, const char* what) {
    for (std::size_t i = 0; i < got.size(); ++i) {
      // NaN of both is for the comparison with the dense network to find.
      if (got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i]))) continue;
      const double difference = std::abs(double{got[i]} - double{wanted[i]});
      double times = difference / (absolute + relative * std::abs(double{wanted[i]}));
      if (!std::isfinite(times)) times = std::numeric_limits<double>::infinity();
      if (times > 1 && message.empty())
        message = fmt::format("layer {}, element {} of the {}: backend {} gives {:.9g}, {} {:.9g}", layer, i, what,
                              to_string(backend), got[i], to_string(driver), wanted[i]);
      times_allowed = std::max(times_allowed, times);
    }
  };
  compare(output.out, driving.out, "output");
  compare(output.lse, driving.lse, "log-sum-exp");
}

void BackendWork::add(const BackendWork& other) {
  batches += other.batches;
  declined += other.declined;
  times_allowed = std::max(times_allowed, other.times_allowed);
  if (reason.empty()) reason = other.reason;
  if (message.empty()) message = other.message;
}

}  // namespace hybridkv
