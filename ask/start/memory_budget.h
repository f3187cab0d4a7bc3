#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engines/start.h"

namespace hybridkv {

/// What an engine leaves to the cache of one GPU, and how that is known.
struct MemoryBudget {
  Gpu gpu;
  double utilization = 0;          ///< share of the GPU that the engine may take
  std::int64_t requested_bytes = 0;  ///< total * utilization, rounded up
  std::int64_t weights_bytes = 0;    ///< of one rank
  std::string weights_basis;         ///< what they were counted from; empty: they are as given
  std::int64_t beside_bytes = 0;     ///< activations, graphs and what no framework counts; estimated unless given
  bool beside_is_estimated = true;
  std::int64_t available_bytes = 0;  ///< requested - weights - beside; below 0 where nothing is left
};

/// `beside_bytes`: default: what the engine is estimated to take. Source: vLLM gpu_worker determine_available_memory.
MemoryBudget memory_budget(const Gpu& gpu, double utilization, std::int64_t weights_bytes,
                           std::optional<std::int64_t> beside_bytes, const EngineStart& start);

}  // namespace hybridkv
