#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ask/gpus.h"

namespace hybridkv {

/// What an engine leaves to the cache of one GPU, and how that is known.
struct MemoryBudget {
  const Gpu* gpu = nullptr;
  double utilization = 0;          ///< share of the GPU that the engine may take
  std::int64_t requested_bytes = 0;  ///< total * utilization, rounded up
  std::int64_t weights_bytes = 0;    ///< of one rank, as given
  std::int64_t beside_bytes = 0;   ///< activations, graphs and what no framework counts; estimated unless given
  bool beside_is_estimated = true;
  std::int64_t available_bytes = 0;  ///< requested - weights - beside; below 0 where nothing is left
};

/// `beside_bytes`: default: estimated_beside_bytes. Source: vLLM gpu_worker determine_available_memory.
MemoryBudget memory_budget(const Gpu& gpu, double utilization, std::int64_t weights_bytes,
                           std::optional<std::int64_t> beside_bytes);

/// What an engine takes beside weights and cache; no rule gives it, so it is a middle of the published starts.
inline constexpr std::int64_t estimated_beside_bytes = std::int64_t{5} << 30;

/// A start whose log says all terms of the budget.
struct PublishedStart {
  std::string_view what;
  double requested_gib = 0, weights_gib = 0, available_gib = 0;
  double beside_gib() const { return requested_gib - weights_gib - available_gib; }
  /// By how much the estimate was too large, GiB.
  double error_gib() const { return static_cast<double>(estimated_beside_bytes) / (1 << 30) - beside_gib(); }
};

std::span<const PublishedStart> published_starts();

}  // namespace hybridkv
