#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engines/gpus.h"
#include "planner/cache_plan.h"

namespace hybridkv {

/// What a server takes on a GPU where no flag says it.
struct ServerDefaults {
  std::int64_t max_num_seqs = 0;
  std::int64_t max_num_batched_tokens = 0;
};

/// A start whose log says all terms of the memory of a GPU.
struct PublishedStart {
  std::string_view what;
  double requested_gib = 0, weights_gib = 0, available_gib = 0;
  double beside_gib() const { return requested_gib - weights_gib - available_gib; }
};

/// How an engine starts with a plan.
struct EngineStart {
  /// What it prints, as it words and rounds it. Pre: the plan has one length.
  std::vector<std::string> (*lines)(const CachePlan& plan, const EngineSpec& engine) = nullptr;
  ServerDefaults (*server)(const Gpu& gpu) = nullptr;
  /// What it takes beside weights and cache; no rule gives it, so it is a middle of the published starts.
  std::int64_t beside_bytes = 0;
  std::span<const PublishedStart> published;  ///< by which that can be judged
  /// By how much the estimate was too large, GiB.
  double error_gib(const PublishedStart& start) const {
    return static_cast<double>(beside_bytes) / (1 << 30) - start.beside_gib();
  }
};

/// Memory as engines print it: "40.00 GiB".
std::string printed_gib(std::int64_t bytes);

}  // namespace hybridkv
