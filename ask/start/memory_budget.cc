#include "ask/start/memory_budget.h"

#include <cmath>

#include "base/checked.h"

namespace hybridkv {

MemoryBudget memory_budget(const Gpu& gpu, double utilization, std::int64_t weights_bytes,
                           std::optional<std::int64_t> beside_bytes, const EngineStart& start) {
  MemoryBudget budget{.gpu = gpu, .utilization = utilization};
  budget.requested_bytes = static_cast<std::int64_t>(std::ceil(static_cast<double>(gpu.total_bytes) * utilization));
  budget.weights_bytes = weights_bytes;
  budget.beside_is_estimated = !beside_bytes.has_value();
  budget.beside_bytes = beside_bytes.value_or(start.beside_bytes);
  budget.available_bytes = Checked(budget.requested_bytes) - weights_bytes - budget.beside_bytes;
  return budget;
}

}  // namespace hybridkv
