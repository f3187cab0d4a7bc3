#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace hybridkv {

/// A flag of commands, and the key of the scenario that it stands for.
struct KeyFlag {
  std::string_view flag;
  std::string_view key;
};

/// Those of every command that plans, all of them, in the order in which commands are written.
inline constexpr std::array key_flags{
    KeyFlag{"--model", "model"},
    KeyFlag{"--engine", "engine.release"},
    KeyFlag{"--backend-profile", "engine.backend_profile"},
    KeyFlag{"--pack", "engine.attention_pack_size"},
    KeyFlag{"--tp", "engine.tensor_parallel"},
    KeyFlag{"--memory", "engine.memory"},
    KeyFlag{"--max-model-len", "limits.max_model_len"},
    KeyFlag{"--mode", "engine.cache_mode"},
    KeyFlag{"--kv-dtype", "engine.kv_dtype"},
    KeyFlag{"--ssm-dtype", "engine.ssm_dtype"},
};

/// Those of every command that replays a trace by a driver, likewise. The first says a whole trace, so that nothing is
/// left of the one that a scenario has; the third is a switch.
inline constexpr std::array replay_flags{
    KeyFlag{"--trace", "simulate.trace"},
    KeyFlag{"--trace-form", "simulate.trace.form"},
    KeyFlag{"--skip-bad-lines", "simulate.trace.skip_bad_lines"},
    KeyFlag{"--seed", "simulate.trace.synthetic.seed"},
    KeyFlag{"--requests", "simulate.trace.max_requests"},
    KeyFlag{"--driver", "simulate.driver"},
    KeyFlag{"--in-flight", "simulate.in_flight"},
    KeyFlag{"--think-seconds", "simulate.think_seconds"},
    KeyFlag{"--prefill-seconds", "simulate.cost.per_prefill_token"},
    KeyFlag{"--decode-seconds", "simulate.cost.per_decode_step"},
    KeyFlag{"--copy-seconds", "simulate.cost.per_copied_state"},
};

/// The flag of a key; empty where the key has none of these.
template <std::size_t size>
constexpr std::string_view flag_of_key(const std::array<KeyFlag, size>& flags, std::string_view key) {
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const KeyFlag& flag) { return flag.key == key; });
  return found == flags.end() ? std::string_view() : found->flag;
}

/// The key of a flag; empty where there is no such flag among these.
template <std::size_t size>
constexpr std::string_view key_of_flag(const std::array<KeyFlag, size>& flags, std::string_view name) {
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const KeyFlag& flag) { return flag.flag == name; });
  return found == flags.end() ? std::string_view() : found->key;
}

}  // namespace hybridkv
