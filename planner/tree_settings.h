#pragma once

#include <array>
#include <string_view>

#include "planner/own_settings.h"
#include "planner/token_state_split.h"
#include "planner/tree_host.h"

namespace hybridkv::tree_key {

/// Names of strategies in the order of their values.
inline constexpr auto strategy_choices = [] {
  std::array<std::string_view, tree_strategy_names.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = name_in(tree_strategy_names, static_cast<TreeStrategy>(i));
  return names;
}();

/// The same of what goes to the host.
inline constexpr auto host_copies_choices = [] {
  std::array<std::string_view, host_copies_names.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = name_in(host_copies_names, static_cast<HostCopies>(i));
  return names;
}();

/// Which states are kept beside the running one.
inline constexpr Setting<TreeStrategy> mamba_radix_cache_strategy{
    {.name = "mamba_radix_cache_strategy", .type = SettingType::choice, .standard = 0, .choices = strategy_choices}};
/// The next step is prepared while one runs.
inline constexpr Setting<bool> overlap_schedule{
    {.name = "overlap_schedule", .type = SettingType::flag, .standard = true}};
/// The tree's state is not locked while its request decodes.
inline constexpr Setting<bool> skip_decode_lock{
    {.name = "skip_decode_lock", .type = SettingType::flag, .standard = false}};
/// One elastic buffer for tokens and states.
inline constexpr Setting<bool> unified_memory{{.name = "unified_memory", .type = SettingType::flag, .standard = false}};
/// Inputs of draft steps are kept, not their states.
inline constexpr Setting<bool> linear_replayssm_spec{
    {.name = "linear_replayssm_spec", .type = SettingType::flag, .standard = false}};
/// Tokens of a page.
inline constexpr Setting<std::int64_t> page_size{{.name = "page_size", .standard = 1}};
/// Tokens between states that are kept in decode.
inline constexpr Setting<std::int64_t> mamba_track_interval{{.name = "mamba_track_interval", .standard = 256}};
/// State slots over all attention ranks, instead of a ratio.
inline constexpr Setting<std::int64_t> max_mamba_cache_size{
    {.name = "max_mamba_cache_size", .type = SettingType::amount}};
/// At most so many token slots.
inline constexpr Setting<std::int64_t> max_total_tokens{{.name = "max_total_tokens", .type = SettingType::amount}};
/// Ranks that share requests beside tensor_parallel.
inline constexpr Setting<std::int64_t> attention_data_parallel{
    {.name = "attention_data_parallel", .type = SettingType::count, .standard = 1}};
/// What is evicted stays findable on the host.
inline constexpr Setting<bool> enable_hierarchical_cache{
    {.name = "enable_hierarchical_cache", .type = SettingType::flag, .standard = false}};
/// Slots of the host over those of the device, one number; 2 unless set.
inline constexpr Setting<std::vector<double>> hicache_ratio{{.name = "hicache_ratio", .type = SettingType::shares}};
/// 10^9 bytes on the host of each pool of a rank, instead of a ratio.
inline constexpr Setting<std::int64_t> hicache_size{{.name = "hicache_size", .type = SettingType::amount}};
/// When a copy is made.
inline constexpr Setting<HostCopies> hicache_write_policy{{.name = "hicache_write_policy",
                                                           .type = SettingType::choice,
                                                           .standard = 0,
                                                           .choices = host_copies_choices}};

}  // namespace hybridkv::tree_key
