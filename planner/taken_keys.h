#pragma once

#include <array>
#include <string_view>

#include "planner/own_settings.h"

namespace hybridkv {

struct EngineRules;
struct EngineSpec;

/// A setting of its own that an engine takes.
struct OwnKey {
  const SettingKey* key = nullptr;
  std::string_view meaning;  ///< to this engine, without its default
};

/// Words of one engine about a key that it shares with others.
struct KeyWords {
  std::string_view key;
  std::string_view words;
};

/// Keys that engines with blocks take and that some others do not. "strategy" is the choice of one.
inline constexpr auto block_keys = std::to_array<std::string_view>(
    {"strategy", "attention_pack_size", "layers_per_group", "block_size_tokens", "mamba_block_size_tokens",
     "kernel_alignment_tokens", "kernel_block_sizes", "page_alignment_bytes", "what_if", "backend_profile",
     "concurrent_batches", "state_requests", "state_memory_ratio", "num_blocks", "kv_dtype", "conv_state_layout",
     "speculative_tokens", "draft", "mtp_layers", "hidden_state_size", "token_rule", "physical_order", "backend_form"});

/// Does the engine take this key of its own or of a few engines? "page_size" stands for "engine.page_size". False of
/// keys that all engines take.
bool takes(const EngineRules& rules, std::string_view key);

/// Refuses keys that the engine does not take, and values of its own settings that are out of range: SpecError with the
/// key and a way out.
void refuse_untaken_keys(const EngineSpec& engine);

}  // namespace hybridkv
