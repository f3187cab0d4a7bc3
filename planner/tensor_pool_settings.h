#pragma once

#include "planner/engine_spec.h"
#include "planner/own_settings.h"

namespace hybridkv {

/// Settings of strategy pool_groups.
namespace group_key {

/// Mode all: tokens between checkpoints.
inline constexpr Setting<std::int64_t> mamba_state_cache_interval{
    {.name = "mamba_state_cache_interval", .standard = 256}};
/// Tokens of the requests that the pool groups are split by; else half the longest length.
inline constexpr Setting<std::int64_t> avg_seq_len{{.name = "avg_seq_len"}};

}  // namespace group_key

/// Settings of strategy sequence_rows.
namespace row_key {

/// Checkpoints of a sequence on the host.
inline constexpr Setting<std::int64_t> ctx_checkpoints{
    {.name = "ctx_checkpoints", .type = SettingType::count, .standard = 32, .least = 0, .most = largest_count}};
/// Tokens between them.
inline constexpr Setting<std::int64_t> checkpoint_min_step{
    {.name = "checkpoint_min_step", .type = SettingType::count, .standard = 8192, .least = 0, .most = largest_count}};

}  // namespace row_key

}  // namespace hybridkv
