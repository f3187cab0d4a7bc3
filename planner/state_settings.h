#pragma once

#include "planner/own_settings.h"

namespace hybridkv::state_key {

/// States are kept at the very token where prompts part.
inline constexpr Setting<bool> enable_mamba_shared_prefix_checkpoint{
    {.name = "enable_mamba_shared_prefix_checkpoint", .type = SettingType::flag, .standard = false}};
/// States are rounded up or down at random, so that errors do not add up.
inline constexpr Setting<bool> enable_mamba_cache_stochastic_rounding{
    {.name = "enable_mamba_cache_stochastic_rounding", .type = SettingType::flag, .standard = false}};

}  // namespace hybridkv::state_key
