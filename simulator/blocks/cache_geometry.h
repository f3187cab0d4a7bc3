#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/key_mask.h"
#include "base/error.h"
#include "planner/engine_spec.h"
#include "planner/table_rule.h"
#include "simulator/blocks/prefix_rules.h"
#include "simulator/pool/host_tier.h"
#include "simulator/schedule/scheduler_settings.h"

namespace hybridkv {

/// Tables of every running request in whose blocks nothing is found again: a ring, or a window that the engine's prefix
/// cache leaves out.
struct HeldGroup {
  std::int64_t arena = 0;
  std::int64_t tables = 1;              ///< of which each has the entries of the rule, >= 1
  TableRule rule = table_of_ring();
  bool operator==(const HeldGroup&) const = default;
  /// All their entries for a request of at most `tokens` tokens.
  std::int64_t blocks(std::int64_t tokens) const;
};

/// A cache and the engine settings that decide what it holds: all that the simulator needs to know of a layout.
///
/// Example: `{.block_size_tokens = 528, .num_blocks = 20000, .attention_groups = 1, .state_groups = 1}`. States apart
/// from the tokens, found every 512 of them: `{.block_size_tokens = 16, .num_blocks = 20000, .state_groups = 1,
/// .more_arenas = {101}, .state_arenas = {1}, .state_block_size_tokens = 512}`.
struct CacheGeometry {
  std::string name;                                 ///< how reports call it; may be empty
  std::int64_t block_size_tokens = 0;               ///< B, of every group that has no block of its own, >= 1
  std::int64_t num_blocks = 0;                      ///< of the pool (arena 0), null block included, >= 2
  std::int64_t attention_groups = 1;                ///< groups of attention, >= 0
  /// By attention group; empty: all of them see every token. What no later token sees is given back.
  std::vector<KeyMask> attention_masks;
  std::int64_t state_groups = 0;                    ///< recurrent groups, >= 0
  CacheMode mode = CacheMode::align;                ///< of the recurrent groups; no meaning without any
  std::int64_t speculative_tokens = 0;              ///< s: draft tokens of a step, each with a state block, >= 0
  bool replays_drafts = false;                      ///< a request has no states for those: their inputs are kept
  bool drafter_drops_block = false;                 ///< a look-up drops its last matched block for the drafter
  std::int64_t extra_blocks_per_request = 0;        ///< fixed block ids of every running request, >= 0
  std::vector<HeldGroup> held_groups;               ///< what a request holds beside the groups above
  std::int64_t max_num_batched_tokens = 8192;       ///< token budget of one step, >= 1
  /// Tokens in flight at most, which bound the blocks of a window; unset: the budget of one step.
  std::optional<std::int64_t> in_flight_tokens;
  SchedulerSettings scheduler;
  std::optional<std::int64_t> retention_interval_tokens;  ///< R; unset keeps every checkpoint, 0 only the last
  std::optional<std::int64_t> match_unit_tokens;    ///< h, divides every block; default: no prefix ends within a block
  bool unlimited_pool = false;                      ///< grow instead of evicting: an upper bound of the hits
  /// (arena 1, 2, …) Blocks of further pools, null block included, >= 2. Each has ids and a free list of its own.
  std::vector<std::int64_t> more_arenas;
  /// (arena) k: all arenas share large pages, each of which is k of their blocks (PageLedger); the null page is the
  /// first. Every arena then has k blocks a large page. Empty: every arena has memory of its own.
  std::vector<std::int64_t> blocks_per_large_page;
  std::vector<std::int64_t> attention_arenas;       ///< (attention group) arena of its blocks; empty: arena 0
  std::vector<std::int64_t> state_arenas;           ///< (state group) arena of its blocks; empty: arena 0
  std::vector<std::int64_t> attention_block_sizes;  ///< (attention group) tokens of one of its blocks; empty: B each
  std::optional<std::int64_t> state_block_size_tokens;  ///< S, of recurrent groups: a state every S tokens; default B
  std::optional<HostSettings> host;           ///< memory of the host behind the pools; unset: none
  PrefixRules rules;                          ///< whose prefix cache and scheduler it is
  bool has_encoder = false;                   ///< requests attend to one, so that no prefix is cached
  bool whole_prompts = false;                 ///< prompts are computed in one step each
  bool modelled_layout = false;               ///< its pages are such as no run of an engine had

  std::int64_t num_arenas() const { return 1 + std::ssize(more_arenas); }
  std::int64_t arena_blocks(std::int64_t arena) const {
    return arena == 0 ? num_blocks : more_arenas[static_cast<std::size_t>(arena - 1)];
  }
  /// Of all arenas.
  std::int64_t total_blocks() const;
  /// Do arenas share large pages?
  bool shares_large_pages() const { return !blocks_per_large_page.empty(); }
  /// Null page included. Pre: arenas share them.
  std::int64_t num_large_pages() const { return num_blocks / blocks_per_large_page.front(); }
  /// Gives every arena the blocks of so many large pages, null page included. Pre: arenas share them.
  void set_large_pages(std::int64_t pages);
  std::int64_t attention_arena(std::int64_t group) const { return at_or(attention_arenas, group, 0); }
  std::int64_t state_arena(std::int64_t group) const { return at_or(state_arenas, group, 0); }
  std::int64_t attention_block(std::int64_t group) const {
    return at_or(attention_block_sizes, group, block_size_tokens);
  }
  /// Tokens from the start of a chunk to a state that it exports are a multiple of it.
  std::int64_t checkpoint_alignment() const;
  std::int64_t state_block() const { return state_block_size_tokens.value_or(block_size_tokens); }

  /// Tokens at which keys are made: h, or the largest number that divides the block of every group.
  std::int64_t match_unit() const;
  /// The largest number that divides the block of every group; B where all have the same, or none has one.
  std::int64_t common_block() const;
  /// A: the smallest number that the block of every attention group divides; 1 without any.
  std::int64_t attention_grain() const;
  /// The smallest number that the block of every group divides; B where no group has a block.
  std::int64_t common_multiple() const;
  /// Do two groups differ in their block?
  bool has_unequal_blocks() const;
  /// May a prefix end within a block? Only where a match unit was asked for that is not the block of every group; in
  /// 0.33 where it is below the states' block and all windows have it as their block.
  bool has_partial_tails() const;
  bool is_windowed(std::int64_t group) const {
    return !attention_masks.empty() && attention_masks[static_cast<std::size_t>(group)].kind != MaskKind::full;
  }
  /// What a request has of an attention group: all blocks of its tokens, or at a time those of its window or chunk.
  TableRule attention_table(std::int64_t group) const;
  /// What a request has of each recurrent group.
  TableRule state_table() const;
  /// Tokens between two lengths at which the attention groups can be found together: A, with partial tails h.
  std::int64_t attention_step() const;
  /// Tokens between two lengths at which a request may resume from its states: whole blocks of every group, or h.
  std::int64_t resume_step() const;
  /// Tokens between the checkpoints at which chunks are cut in mode align: S, or where attention cannot resume at every
  /// multiple of S, the multiples at which it can.
  std::int64_t checkpoint_step() const { return one_block() ? block_size_tokens : own_checkpoint_step(); }
  /// Mode none with recurrent groups keeps no state, and an encoder reads something else for each request: then no
  /// prefix is ever found again.
  bool caches_prefixes() const { return !has_encoder && (state_groups == 0 || mode != CacheMode::none); }
  /// Why no prefix is found again, for messages. Pre: none is.
  std::string_view why_no_prefixes() const {
    return has_encoder ? "an encoder reads something else for each request, so no prefix is cached"
                       : "mode none keeps no states, so no prefix is ever found again";
  }
  /// So many tokens of a prompt of which `rest` are left, or none where they have to be computed together.
  std::int64_t allowed_chunk(std::int64_t tokens, std::int64_t rest) const {
    return whole_prompts && tokens < rest ? 0 : tokens;
  }
  /// State blocks of a running request beside its running one, for draft tokens.
  std::int64_t draft_states() const { return replays_drafts ? 0 : speculative_tokens; }
  /// Does the engine keep states at multiples of a number of its own, beside the running one?
  bool has_own_checkpoints() const { return mode == CacheMode::all && rules.engine->checkpoint_tokens; }
  /// What users call the mode: checkpoints of the engine's own are those of align, however many a request holds.
  CacheMode said_mode() const { return has_own_checkpoints() ? CacheMode::align : mode; }
  /// Are chunks cut so that states are written at block boundaries?
  bool aligns_chunks() const { return state_groups > 0 && mode == CacheMode::align; }
  /// Does any state stand for a number of tokens? In mode none a state is that of the whole request.
  bool has_state_blocks() const { return state_groups > 0 && mode != CacheMode::none; }
  /// Does the retention interval decide what stays findable? It is asked of states; in 0.33 of blocks of windows too.
  bool depends_on_retention() const;
  /// Blocks of an arena kept free when a request is admitted beside others.
  std::int64_t watermark_blocks(std::int64_t arena = 0) const {
    return static_cast<std::int64_t>(scheduler.watermark * static_cast<double>(arena_blocks(arena)));
  }
  bool operator==(const CacheGeometry&) const = default;

 private:
  static std::int64_t at_or(const std::vector<std::int64_t>& values, std::int64_t group, std::int64_t otherwise) {
    return values.empty() ? otherwise : values[static_cast<std::size_t>(group)];
  }
  bool one_block() const { return attention_block_sizes.empty() && !state_block_size_tokens; }
  std::int64_t own_checkpoint_step() const;
};

/// Does the engine refuse a prompt of that many tokens when it comes in? One of max_model_len tokens too: it leaves no
/// room for the one token that is generated at least. Source: vLLM InputProcessor.
constexpr bool refused_for_length(std::int64_t prompt_tokens, const std::optional<std::int64_t>& max_model_len) {
  return max_model_len && prompt_tokens >= *max_model_len;
}

/// Throws SpecError, path "geometry.FIELD", where a value is unusable: a size out of range, a group in an arena that is
/// not there, a match unit that does not divide every block, or in mode align a budget or threshold below the distance
/// of two checkpoints, which would wait for ever.
void validate(const CacheGeometry& geometry);

/// The error for a kind of cache that memory of the host cannot back, such as "windows"; its path is
/// "geometry.host_memory".
SpecError host_refusal(std::string_view kind);

/// May another policy than lru order what a cache evicts? It ranks prefixes by their states, in pools of blocks.
bool ranks_prefixes(const CacheGeometry& geometry);

}  // namespace hybridkv
