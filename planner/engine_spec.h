#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "attention/attention_spec.h"
#include "attention/cache_order.h"
#include "attention/kv_format.h"
#include "attention/kv_view.h"
#include "base/dtype.h"
#include "base/named_values.h"
#include "mamba/state_spec.h"
#include "planner/backend_profile.h"
#include "planner/engine_rules.h"
#include "planner/own_settings.h"
#include "planner/strategy.h"
#include "planner/supposed_layout.h"

namespace hybridkv {

/// Bounds that no deployment comes near; they keep sums and lists of a plan small and name the field at fault.
inline constexpr std::int64_t largest_count = 65'536;                          ///< layers, layers of a pack, drafts
inline constexpr std::int64_t largest_dimension = std::int64_t(1) << 20;       ///< ranks, heads, sizes of an axis
inline constexpr std::int64_t largest_tokens = std::int64_t(1) << 40;          ///< lengths, blocks, windows

/// Where recurrent states are kept for prefix caching.
enum class CacheMode {
  none,   ///< one running state per request, no prefix is found again
  align,  ///< a checkpoint where a scheduled chunk ends on a block boundary
  all,    ///< a checkpoint at every block boundary
};

inline constexpr auto cache_mode_names = std::to_array<Named<CacheMode>>(
    {{CacheMode::none, "none"},
     {CacheMode::align, "align"},
     {CacheMode::all, "all"}});
inline constexpr auto all_cache_modes = values_of(cache_mode_names);

constexpr std::string_view to_string(CacheMode value) { return name_in(cache_mode_names, value); }
constexpr std::optional<CacheMode> parse_cache_mode(std::string_view name) { return value_in(cache_mode_names, name); }

/// How engines turn a number of blocks into "KV cache tokens".
enum class TokenRule {
  concurrency,  ///< int(max_concurrency * max_model_len)
  floor,        ///< num_blocks // groups * smallest block of a group (engines up to 0.20)
};

inline constexpr auto token_rule_names = std::to_array<Named<TokenRule>>(
    {{TokenRule::concurrency, "concurrency"},
     {TokenRule::floor, "floor"}});

constexpr std::string_view to_string(TokenRule value) { return name_in(token_rule_names, value); }
constexpr std::optional<TokenRule> parse_token_rule(std::string_view name) { return value_in(token_rule_names, name); }

/// Layers of a draft model that share the pools, in groups of their own.
struct DraftSpec {
  std::int64_t layers = 0;  ///< >= 1
  AttentionSpec attention;  ///< kind full or sliding_window
  bool operator==(const DraftSpec&) const = default;
};

/// What the user asks of the serving engine. Defaults are those of a deployment without any flag.
struct EngineSpec {
  const EngineRules* rules = default_rules();    ///< whose rules
  std::optional<BackendProfile> backend_profile;        ///< what backends declare where nothing below says it
  std::int64_t tensor_parallel = 1;                     ///< ranks, >= 1
  bool pad_heads = false;                               ///< heads that ranks cannot share are padded until they can
  std::int64_t pipeline_parallel = 1;                   ///< stages, >= 1; from 0.33 on
  std::int64_t pipeline_rank = 0;                       ///< the stage that is planned
  std::vector<std::int64_t> pipeline_layers;            ///< layers of each stage; default: as even as engines do it
  std::vector<std::int64_t> pipeline_memory_bytes;      ///< of each stage, in place of memory_bytes; empty: of all
  std::int64_t decode_context_parallel = 1;             ///< ranks that share the tokens of a block; from 0.33 on
  std::optional<DType> kv_dtype;                        ///< default: model dtype
  std::optional<KvFormat> kv_format;                    ///< a format with scales in place of kv_dtype
  std::optional<DType> conv_dtype;                      ///< default: model dtype
  std::optional<DType> ssm_dtype;                       ///< default: the family's (kda: fp32), the model's own, else
                                                        ///< model dtype
  std::optional<ConvStateLayout> conv_state_layout;     ///< of engines that let one choose; default: the release's
  Strategy strategy = Strategy::packed_attention;
  std::optional<double> state_memory_ratio;             ///< dual_pool: states take ratio / (1 + ratio) of the memory;
                                                        ///< default 0.9
  std::optional<std::int64_t> state_requests;           ///< dual_pool: states of so many requests instead of a ratio
  std::optional<std::int64_t> max_running_requests;     ///< at once; what the engine counts is in its own words
  OwnSettings own;                                      ///< what few engines are told
  SupposedLayout what_if;                               ///< rules of no engine, in place of its own
  CacheMode cache_mode = CacheMode::none;
  std::int64_t attention_pack_size = 1;                 ///< N, full-attention layers per page, >= 1
  std::optional<std::int64_t> layers_per_group;         ///< g, pages (packs, where N > 1) of a group; default: by the
                                                        ///< engine's rule; strategies with common pages alone
  std::optional<std::int64_t> block_size_tokens;        ///< user block size: a floor and the rounding unit
  std::optional<std::int64_t> mamba_block_size_tokens;  ///< mode all: overrides the chunk of the scan
  std::optional<std::int64_t> kernel_alignment_tokens;  ///< smallest kernel block of the backend, >= 1; default: the
                                                        ///< profile's, else 16
  std::vector<std::int64_t> kernel_block_sizes;         ///< supported kernel blocks; empty: the profile's, else any
                                                        ///< multiple of the smallest
  std::optional<std::int64_t> checkpoint_alignment_tokens;  ///< k, tokens at which gdn scans export states; default:
                                                        ///< the profile's
  std::optional<std::int64_t> checkpoint_blocks;        ///< c, blocks of a request for an exported state; default: the
                                                        ///< family's
  std::int64_t page_alignment_bytes = 1;                ///< pages are padded to a multiple of it, >= 1; for transfers
  BackendForm backend_form = BackendForm::paged;        ///< of full-attention layers; mla layers always use mla
  PhysicalOrder physical_order = PhysicalOrder::nhd;
  std::optional<CacheOrder> cache_order;                ///< of the one allocation; default: the profile's first
  std::int64_t speculative_tokens = 0;                  ///< s, >= 0
  std::int64_t mtp_layers = 0;                          ///< layers that join the full-attention layers, >= 0
  std::optional<DraftSpec> draft;
  std::optional<std::int64_t> encoder_tokens;           ///< of each request, that its cross attention keeps; default:
                                                        ///< the most that the model takes
  std::int64_t hidden_state_size = 0;                   ///< elements per token of an auxiliary layer that caches hidden
                                                        ///< states in the model dtype; 0: there is none
  std::int64_t memory_bytes = 0;                        ///< for all pools together, >= 1
  std::optional<std::int64_t> num_blocks;               ///< overrides what memory_bytes gives
  std::int64_t max_num_batched_tokens = 8192;           ///< tokens of one step, >= 1
  std::optional<std::int64_t> concurrent_batches;       ///< steps in flight together; default: the release's
  std::optional<std::int64_t> prefix_match_unit_tokens; ///< tokens of a chain hash; default: by the groups' blocks
  bool hybrid_manager = true;                           ///< false: layers with a window keep every token; from 0.33 on
  TokenRule token_rule = TokenRule::concurrency;
  bool operator==(const EngineSpec&) const = default;
};

/// Other memory for the planned stage, and for the others in proportion.
inline void set_memory(EngineSpec& engine, std::int64_t bytes) {
  for (std::int64_t& of_stage : engine.pipeline_memory_bytes)
    of_stage = of_stage == engine.memory_bytes
                   ? bytes
                   : std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(of_stage) /
                                                                         static_cast<double>(engine.memory_bytes) *
                                                                         static_cast<double>(bytes)));
  engine.memory_bytes = bytes;
}

/// Are all layers in one allocation, in one of six orders? Other strategies are in no release with one.
inline bool has_one_allocation(const EngineSpec& engine) {
  return engine.rules->one_allocation && engine.strategy == Strategy::packed_attention;
}

/// The lengths a plan is asked about.
struct LimitsSpec {
  std::vector<std::int64_t> max_model_lens;             ///< tokens, each >= 1; capacity is given for each
  std::optional<std::int64_t> longest_prompt_tokens;    ///< of the traffic, for the warning that no prefix can hit
  std::vector<std::int64_t> load_tokens;                ///< running requests at which waste is itemised; default: one
                                                        ///< request of the longest max_model_len
  bool operator==(const LimitsSpec&) const = default;
};

/// A batch whose bias memory the plan should show.
struct WorkspaceSpec {
  std::int64_t query_tokens = 0;
  std::int64_t shared_blocks = 0;
  std::int64_t block_size_tokens = 0;
  std::int64_t chunk_blocks = 64;
  DType dtype = DType::bf16;
  bool operator==(const WorkspaceSpec&) const = default;
};

}  // namespace hybridkv
