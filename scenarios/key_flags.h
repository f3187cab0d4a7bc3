#pragma once

#include <array>
#include <string_view>

namespace hybridkv {

/// A flag of every command that plans, and the key of the scenario that it stands for.
struct KeyFlag {
  std::string_view flag;
  std::string_view key;
};

/// All of them, in the order in which commands are written.
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

}  // namespace hybridkv
