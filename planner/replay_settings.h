#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "planner/own_settings.h"

namespace hybridkv {

/// Whose kernels update the states of Mamba-2 layers.
enum class StateKernels {
  triton,
  flashinfer,
};

namespace replay_key {

inline constexpr std::array<std::string_view, 2> kernel_choices{"triton", "flashinfer"};

/// The inputs of the last tokens are kept beside a state, from which it is brought up to date.
inline constexpr Setting<bool> use_replayssm{{.name = "use_replayssm", .type = SettingType::flag, .standard = false}};
/// Tokens of which the inputs are kept.
inline constexpr Setting<std::int64_t> replayssm_buffer_len{
    {.name = "replayssm_buffer_len", .type = SettingType::tokens, .standard = 16, .most = 4096}};
inline constexpr Setting<StateKernels> mamba_backend{
    {.name = "mamba_backend", .type = SettingType::choice, .standard = 0, .choices = kernel_choices}};

}  // namespace replay_key

}  // namespace hybridkv
