#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/key_mask.h"
#include "planner/engine_spec.h"

namespace hybridkv {

/// A cache and the engine settings that decide what it holds: all that the simulator needs to know of a layout.
///
/// Example: `{.block_size_tokens = 528, .num_blocks = 20000, .attention_groups = 1, .state_groups = 1}`.
struct CacheGeometry {
  std::string name;                                 ///< how reports call it; may be empty
  std::int64_t block_size_tokens = 0;               ///< B, of every group, >= 1
  std::int64_t num_blocks = 0;                      ///< of the pool, null block included, >= 2
  std::int64_t attention_groups = 1;                ///< groups of attention, >= 0
  /// By attention group; empty: all of them see every token. What no later token sees is given back.
  std::vector<KeyMask> attention_masks;
  std::int64_t state_groups = 0;                    ///< recurrent groups, >= 0
  CacheMode mode = CacheMode::align;                ///< of the recurrent groups; no meaning without any
  std::int64_t speculative_tokens = 0;              ///< s: extra state blocks of a running request, >= 0
  bool drafter_drops_block = false;                 ///< a look-up drops its last matched block for the drafter
  std::int64_t extra_blocks_per_request = 0;        ///< fixed block ids of every running request, >= 0
  std::int64_t max_num_batched_tokens = 8192;       ///< token budget of one step, >= 1
  std::int64_t long_prefill_threshold = 0;          ///< most tokens of one request in a step; 0 = no limit
  std::int64_t max_num_seqs = 256;                  ///< most running requests, >= 1
  double watermark = 0;                             ///< share of the pool kept free at admission beside others, [0, 1)
  bool branch_point = true;                         ///< end the first chunk where attention alone matched
  std::optional<std::int64_t> retention_interval_tokens;  ///< R; unset keeps every checkpoint, 0 only the last
  std::optional<std::int64_t> match_unit_tokens;    ///< h, divides B; default B
  std::optional<std::int64_t> max_model_len;        ///< longest sequence, prompt and output; unset: no limit
  bool unlimited_pool = false;                      ///< grow instead of evicting: an upper bound of the hits

  std::int64_t match_unit() const { return match_unit_tokens.value_or(block_size_tokens); }
  /// Mode none with recurrent groups keeps no state, so no prefix is ever found again.
  bool caches_prefixes() const { return state_groups == 0 || mode != CacheMode::none; }
  /// Are chunks cut so that states are written at block boundaries?
  bool aligns_chunks() const { return state_groups > 0 && mode == CacheMode::align; }
  /// Blocks kept free when a request is admitted beside others.
  std::int64_t watermark_blocks() const {
    return static_cast<std::int64_t>(watermark * static_cast<double>(num_blocks));
  }
  bool operator==(const CacheGeometry&) const = default;
};

/// Does the engine refuse a prompt of that many tokens when it comes in? One of max_model_len tokens too: it leaves no
/// room for the one token that is generated at least. Source: vLLM InputProcessor.
constexpr bool refused_for_length(std::int64_t prompt_tokens, const std::optional<std::int64_t>& max_model_len) {
  return max_model_len && prompt_tokens >= *max_model_len;
}

/// Throws SpecError, path "geometry.FIELD", where a value is unusable: a size out of range, a match unit that
/// does not divide the block, or in mode align a budget or threshold below the block, which would wait for ever.
void validate(const CacheGeometry& geometry);

/// Parts of the rules that no replay of a real engine covers; results that depend on one are "modelled".
enum class ModelledRule {
  decode,
  several_in_flight,
  preemption,
  drafter,
  retention_interval,
  match_unit,
  speculative_states,
  extra_blocks,
  watermark,
  long_prefill_threshold,
  several_attention_groups,
  states_without_caching,  ///< mode none with recurrent groups
};
std::string_view to_string(ModelledRule rule);

/// The modelled rules that this geometry brings into play, whatever the driver.
std::vector<ModelledRule> modelled_rules(const CacheGeometry& geometry);

}  // namespace hybridkv
