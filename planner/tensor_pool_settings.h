#pragma once

#include "planner/engine_spec.h"
#include "planner/own_settings.h"

namespace hybridkv {

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
