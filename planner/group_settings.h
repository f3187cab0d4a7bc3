#pragma once

#include "planner/engine_spec.h"
#include "planner/own_settings.h"
#include "planner/snapshot_points.h"

namespace hybridkv {

/// Settings of strategy pool_groups, by the names of TensorRT-LLM's own configuration.
namespace group_key {

/// Requests at once: states of so many are kept free.
inline constexpr Setting<std::int64_t> max_batch_size{
    {.name = "max_batch_size", .type = SettingType::amount, .standard = 2048, .most = largest_count}};
/// Tokens of a block.
inline constexpr Setting<std::int64_t> tokens_per_block{{.name = "tokens_per_block", .standard = 32}};
/// Tokens of the requests that the pool groups are split by; else half the longest length.
inline constexpr Setting<std::int64_t> avg_seq_len{{.name = "avg_seq_len"}};
/// Weights of the pool groups, in the order in which their layers first occur.
inline constexpr Setting<std::vector<double>> pool_ratio{{.name = "pool_ratio", .type = SettingType::shares}};
/// Tokens between periodic snapshots, 0: none.
inline constexpr Setting<std::int64_t> periodic_snapshot_interval{
    {.name = "periodic_snapshot_interval", .standard = 0, .least = 0}};
/// Its older name.
inline constexpr Setting<std::int64_t> mamba_state_cache_interval{{.name = "mamba_state_cache_interval", .least = 0}};
/// Tokens after the start of a prompt at which snapshots are taken.
inline constexpr Setting<std::vector<std::int64_t>> offsets_from_start{
    {.name = "additional_snapshot_offsets_from_start", .type = SettingType::lengths}};
/// The same before its end.
inline constexpr Setting<std::vector<std::int64_t>> offsets_from_end{
    {.name = "additional_snapshot_offsets_from_end", .type = SettingType::lengths, .least = 0}};
/// Snapshots where prompts part.
inline constexpr Setting<bool> enable_branch_snapshot{
    {.name = "enable_branch_snapshot", .type = SettingType::flag, .standard = false}};
/// A part of a block is found again too.
inline constexpr Setting<bool> enable_partial_reuse{
    {.name = "enable_partial_reuse", .type = SettingType::flag, .standard = true}};
/// The second manager, else the first.
inline constexpr Setting<bool> use_kv_cache_manager_v2{
    {.name = "use_kv_cache_manager_v2", .type = SettingType::flag, .standard = true}};

/// Bytes of the host on each rank, to which what is evicted moves. None unless set: the engine's manual says 0 (read),
/// its text of the middle of 2026 took as much as the device has (read).
inline constexpr Setting<std::int64_t> host_cache_size{
    {.name = "host_cache_size", .type = SettingType::bytes, .most = std::int64_t(1) << 50}};
/// A state of a leaf that is evicted takes its K and V along, as before PR 17323.
inline constexpr Setting<bool> prunes_stale_leaves{
    {.name = "prunes_stale_leaves", .type = SettingType::flag, .standard = false}};

}  // namespace group_key

/// max_batch_size as set, under that name or as engine.max_running_requests, or 2,048.
inline std::int64_t max_batch_size(const EngineSpec& engine) {
  const auto own = engine.own.find(group_key::max_batch_size);
  return own ? *own : engine.max_running_requests.value_or(*group_key::max_batch_size.standard);
}

/// tokens_per_block as set, under that name or as engine.block_size_tokens, or 32.
inline std::int64_t tokens_per_block(const EngineSpec& engine) {
  const auto own = engine.own.find(group_key::tokens_per_block);
  return own ? *own : engine.block_size_tokens.value_or(*group_key::tokens_per_block.standard);
}

/// Where snapshots are taken; nowhere without block reuse, which is mode none. The first manager knows intervals alone.
inline SnapshotPoints snapshot_points(const EngineSpec& engine) {
  if (engine.cache_mode == CacheMode::none) return {};
  SnapshotPoints points;
  points.interval_tokens = engine.own.find(group_key::mamba_state_cache_interval)
                               .value_or(engine.own[group_key::periodic_snapshot_interval]);
  points.from_start = engine.own[group_key::offsets_from_start];
  points.from_end = engine.own[group_key::offsets_from_end];
  points.at_branches = engine.own[group_key::enable_branch_snapshot];
  return points;
}

}  // namespace hybridkv
