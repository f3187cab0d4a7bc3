#include "ask/memory_budget.h"

#include <array>
#include <cmath>

#include "base/checked.h"

namespace hybridkv {

namespace {

// Source: rows 93 and 45 of the published block sizes, whose logs print these terms ("Desired GPU memory utilization is
// (0.9, 125.82 GiB)", "Model loading took 38.24 GiB", "Available KV cache memory"). The second prints the total of its
// card no finer than 0.36 GiB of graphs being 0.0114 of it: 31.84 GiB, as a card of 32 GB has.
constexpr std::array starts{
    PublishedStart{"GLM-5.3-Flash on 8 H200, vLLM 0.30-dev", 125.82, 38.24, 81.79},
    PublishedStart{"Qwen3.6-35B-A3B-NVFP4 on a card of 32 GB, vLLM 0.20.0", 28.66, 21.86, 2.95},
};

}  // namespace

std::span<const PublishedStart> published_starts() { return starts; }

MemoryBudget memory_budget(const Gpu& gpu, double utilization, std::int64_t weights_bytes,
                           std::optional<std::int64_t> beside_bytes) {
  MemoryBudget budget{.gpu = &gpu, .utilization = utilization};
  budget.requested_bytes = static_cast<std::int64_t>(std::ceil(static_cast<double>(gpu.total_bytes) * utilization));
  budget.weights_bytes = weights_bytes;
  budget.beside_is_estimated = !beside_bytes.has_value();
  budget.beside_bytes = beside_bytes.value_or(estimated_beside_bytes);
  budget.available_bytes = Checked(budget.requested_bytes) - weights_bytes - budget.beside_bytes;
  return budget;
}

}  // namespace hybridkv
