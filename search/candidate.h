#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/cache_plan.h"
#include "search/pareto_front.h"
#include "simulator/cache_replay.h"
#include "simulator/schedule/overload.h"

namespace hybridkv {

/// One planned layout: what the bytes and the concurrency of candidates depend on.
struct PlannedLayout {
  EngineSpec engine;              ///< with the choices that make it
  CachePlan plan;                 ///< without views and derivation, with what it does to kernels
  std::optional<AnyCache> cache;  ///< that the workload is replayed through, retention and match unit as the engine has
                                  ///< them; unset: nothing is found again

  std::int64_t pack() const { return engine.attention_pack_size; }
  CacheMode mode() const { return engine.cache_mode; }
  const std::optional<std::int64_t>& block_floor() const { return engine.block_size_tokens; }
  bool has_blocks() const { return cache && std::holds_alternative<CacheGeometry>(*cache); }
  /// Pre: it has blocks.
  const CacheGeometry& geometry() const { return std::get<CacheGeometry>(*cache); }
  CacheGeometry& geometry() { return std::get<CacheGeometry>(*cache); }
};

/// Tokens of a block of the layout that the prefix cache works with. Pre: it has blocks.
inline std::int64_t block_tokens(const PlannedLayout& layout) { return layout.geometry().block_size_tokens; }

/// What is chosen of a layout's replay beside the layout; nothing of both where it has no blocks.
struct Refinement {
  std::optional<std::int64_t> retention_tokens;   ///< unset: every checkpoint is kept
  std::optional<std::int64_t> match_unit_tokens;  ///< unset: the block
  bool operator==(const Refinement&) const = default;
};

/// One combination of settings with what the workload makes of it, as `simulate` reports it.
struct Candidate : Refinement, ReplayCounts {
  std::size_t layout = 0;              ///< position in Recommendation::layouts
  std::int64_t settings_changed = 0;   ///< against the default
  bool in_space = true;                ///< false: only there as the default
  bool meets_limits = true;            ///< those of the search, and as many requests served as any
  bool harms_kernel = false;           ///< a kernel that was asked about would refuse its layout or corrupt it
  bool passed_over = false;            ///< for that, as there is another to pick
  bool on_front = false;
  Objectives objectives;
  std::int64_t preemptions = 0;
  std::int64_t evictions = 0;          ///< blocks; of a tree tokens
  std::int64_t copied_states = 0;
  std::vector<ModelledRule> modelled;
  std::optional<QueueOverload> overload;  ///< where an open loop cannot keep up

  const Refinement& refinement() const { return *this; }
  /// Tokens that attention alone matched behind the hits.
  std::int64_t uncached_common_tokens() const { return kv_match_tokens - hit_tokens; }
  bool operator==(const Candidate&) const = default;
};

/// May the candidate be picked?
inline bool eligible(const Candidate& candidate) {
  return candidate.in_space && candidate.meets_limits && !candidate.passed_over;
}

}  // namespace hybridkv
