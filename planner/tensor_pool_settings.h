#pragma once

#include "planner/engine_spec.h"
#include "planner/own_settings.h"
#include "planner/row_settings.h"

namespace hybridkv {

/// Settings of strategy pool_groups.
namespace group_key {

/// Mode all: tokens between checkpoints.
inline constexpr Setting<std::int64_t> mamba_state_cache_interval{
    {.name = "mamba_state_cache_interval", .standard = 256}};
/// Tokens of the requests that the pool groups are split by; else half the longest length.
inline constexpr Setting<std::int64_t> avg_seq_len{{.name = "avg_seq_len"}};

}  // namespace group_key

}  // namespace hybridkv
