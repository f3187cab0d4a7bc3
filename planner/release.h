#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/named_values.h"
#include "planner/strategy.h"

namespace hybridkv {

/// An engine at a version, whose rules a plan follows.
enum class Release {
  vllm_2026_06,  ///< vLLM's main branch of June 2026; packs: PR 35703
  vllm_0_33,     ///< vLLM 0.33.0
  sglang_0_5_23, ///< SGLang 0.5.23
  jenga,         ///< Jenga, of the paper
  compact_slots, ///< states of all layers in one slot beside pages of tokens, a proposal
  tensorrt_llm,  ///< TensorRT-LLM, its rules read
  llama_cpp,     ///< llama.cpp, its rules read
};

inline constexpr auto release_names = std::to_array<Named<Release>>(
    {{Release::vllm_2026_06, "vllm-2026-06"},
     {Release::vllm_0_33, "vllm-0.33"},
     {Release::sglang_0_5_23, "sglang-0.5.23"},
     {Release::jenga, "jenga"},
     {Release::compact_slots, "compact-slots"},
     {Release::tensorrt_llm, "tensorrt-llm"},
     {Release::llama_cpp, "llama.cpp"}});
inline constexpr auto all_releases = values_of(release_names);

constexpr std::string_view to_string(Release value) { return name_in(release_names, value); }
constexpr std::optional<Release> parse_release(std::string_view name) { return value_in(release_names, name); }

/// Models that an engine has no class for.
struct UnservedModels {
  std::string_view name_begins;   ///< of a model as published
  std::string_view architecture;  ///< as its config names it
};

/// Where releases differ. A file a release (planner/release_*.cc) fills it in and says where each rule comes from.
struct ReleaseRules {
  std::string_view title;                 ///< for the header of every output
  Strategy strategy = Strategy::packed_attention;   ///< how it arranges, unless another is asked for
  bool is_read = false;                   ///< its rules are from its source and papers: no run of it confirms a number
  /// Of a release that was read: what is not known exactly; sentences without a full stop.
  std::span<const std::string_view> assumptions;
  std::span<const UnservedModels> unserved;
  bool has_mode_all = true;               ///< states may be kept at every block boundary
  bool caches_by_default = false;         ///< hybrid models cache prefixes, in mode align, unless told not to
  bool one_allocation = false;            ///< all layers in one allocation in one of six orders; else a pool a slot
  bool drafts_look_ahead = false;         ///< keys cover tokens ahead for a drafter; else a look-up drops a block
  bool drafts_join = false;               ///< layers of a draft shaped as the model's own are grouped with them
  bool aligns_to_checkpoints = false;     ///< mode align: blocks are multiples of what the scan can export
  bool counts_checkpoint_blocks = false;  ///< mode align: a request holds a block for the state that a chunk exports
  bool convs_hold_drafts = false;         ///< convolutions of all families keep rows of drafts, kda and short ones too
  bool radix_pools = false;               ///< a pool of tokens, one of state slots, a radix tree over both; else blocks
  bool reserves_null_block = false;       ///< the fit check of the start leaves the null block out
  std::int64_t latent_hybrid_grain = 1;   ///< A of models with states and latents is at least this, in tokens
  std::int64_t concurrent_batches = 1;    ///< steps whose tokens are in flight together
  std::optional<std::int64_t> retention_tokens;  ///< kept states lie so far apart, 0: only the last; unset: all stay
};

/// The rules of a release.
const ReleaseRules& rules_of(Release release);

/// Which models that the release does not serve one is of, by its name; null where it is served.
const UnservedModels* unserved_by(const ReleaseRules& rules, std::string_view model);

extern const ReleaseRules rules_of_vllm_2026_06;
extern const ReleaseRules rules_of_vllm_0_33;
extern const ReleaseRules rules_of_sglang_0_5_23;
extern const ReleaseRules rules_of_jenga;
extern const ReleaseRules rules_of_compact_slots;
extern const ReleaseRules rules_of_tensorrt_llm;
extern const ReleaseRules rules_of_llama_cpp;

}  // namespace hybridkv
