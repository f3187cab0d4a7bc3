#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/snapshot_points.h"

namespace hybridkv {

/// What the split of memory between states and blocks depends on.
struct GroupQuota {
  std::int64_t memory_bytes = 0;           ///< X
  std::int64_t requests = 0;               ///< B
  std::int64_t dummies = 1;                ///< D
  std::int64_t block_tokens = 32;
  std::int64_t typical_tokens = 1;         ///< L
  SnapshotPoints points;
  std::vector<std::int64_t> state_pools;   ///< bytes of a state in each of its pools
  std::vector<std::int64_t> block_pools;   ///< bytes of a block in each of its pools
  std::optional<std::array<double, 2>> shares;  ///< of states and of blocks, instead of weights by L
  std::int64_t host_bytes = 0;             ///< asked for behind both; 0: none

  std::int64_t state_bytes() const;  ///< M
  std::int64_t block_bytes() const;
  /// Running states that must have a slot: B + D.
  std::int64_t least_states() const { return requests + dummies; }
};

/// What requests of L tokens take of both groups.
struct TypicalRequests {
  std::int64_t states = 0;  ///< s of one: the running one and one for each different offset within L
  std::int64_t blocks = 0;  ///< of one: those of s parts of L
};

/// Ids of both groups.
struct GroupIds {
  std::int64_t states = 0;
  std::int64_t blocks = 0;
  bool operator==(const GroupIds&) const = default;
};

TypicalRequests typical_requests(const GroupQuota& quota);

/// Bytes below which the engine does not start: states of B + D requests and a block.
std::int64_t least_memory(const GroupQuota& quota);

/// What the engine reckons with for t tokens: estimate_bytes + t * estimate_token_bytes. Offsets count a state for
/// each request, an interval a part of one for each token, and either a block more for each request.
std::int64_t estimate_bytes(const GroupQuota& quota);
std::int64_t estimate_token_bytes(const GroupQuota& quota);

/// The split, in the engine's own arithmetic:
///   X in whole grains, rounded up; weights: the pools of B requests of L tokens, each in whole grains, or the shares
///   the lighter group first: round_half_even(left * w / (w of those left)) grains, the most ids that they hold; the
///   other what is left; a group with no more ids than B + D states, or one block, has the grains of just these
///   with shares: exactly B + D states where their share holds no more
/// Ratios are of 32 bits. Throws SpecError("engine.memory") for less than the least memory.
/// Source: TensorRT-LLM kv_cache_manager_v2, run.
/// Example: 40 GiB, Qwen3.5-397B at TP2, B 64, L 16,384, one snapshot of each prompt: 248 states, 62,668 blocks.
GroupIds split_groups(const GroupQuota& quota);

/// Pools of the host are whole pages of its memory.
inline constexpr std::int64_t host_page_bytes = 4096;

/// Bytes of the host that are shared between its pools: what is asked for in whole pages of 4 KiB, and no less than the
/// least of both groups takes; 0 where none are asked for. Source: TensorRT-LLM kv_cache_manager_v2, read.
std::int64_t shared_host_bytes(const GroupQuota& quota);

/// The split of these by the device's rule, weights and least ids, in grains of 4 KiB. Pre: there are any.
/// Source: TensorRT-LLM kv_cache_manager_v2, read.
/// Example: 64 GiB behind the 40 GiB above: 397 states, 100,358 blocks.
GroupIds split_host(const GroupQuota& quota);

/// Weights of states and blocks in bytes. Pre: no shares.
std::array<std::int64_t, 2> weights_of(const GroupQuota& quota);

/// The same under the engine's first manager, where a token pays its part of a state at every interval:
///   tokens = floor((X - B M) / (cell + floor(M / i))), B + D states and one at every multiple of i
/// Throws as split_groups where no block is left. Source: TensorRT-LLM CppMambaHybridCacheManager, sizes run.
std::int64_t first_manager_tokens(const GroupQuota& quota);
GroupIds split_first_manager(const GroupQuota& quota);

}  // namespace hybridkv
