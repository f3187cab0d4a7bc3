#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/named_values.h"

namespace hybridkv {

/// Which states an engine with a radix tree keeps beside the running one (SGLang --mamba-radix-cache-strategy).
enum class TreeStrategy {
  automatic,          ///< extra_buffer where the engine can have it, else no_buffer
  no_buffer,          ///< the running state is given to the tree where a chunk or a request ends; pages of one token
  extra_buffer,       ///< two tracking slots a request for states at multiples of a grid; one without overlap
  extra_buffer_lazy,  ///< one tracking slot, and a second for the step on a boundary alone
};

inline constexpr auto tree_strategy_names = std::to_array<Named<TreeStrategy>>(
    {{TreeStrategy::automatic, "auto"},
     {TreeStrategy::no_buffer, "no_buffer"},
     {TreeStrategy::extra_buffer, "extra_buffer"},
     {TreeStrategy::extra_buffer_lazy, "extra_buffer_lazy"}});

constexpr std::string_view to_string(TreeStrategy value) { return name_in(tree_strategy_names, value); }
constexpr std::optional<TreeStrategy> parse_tree_strategy(std::string_view name) {
  return value_in(tree_strategy_names, name);
}

/// What decides how many state slots a request may hold at once.
struct StateSlotHolding {
  bool radix_cache = true;        ///< prefixes are kept in a tree
  TreeStrategy strategy = TreeStrategy::extra_buffer;    ///< not automatic
  bool overlap_schedule = true;   ///< the next step is prepared while one runs
  bool skip_decode_lock = false;  ///< the tree's state is not locked while its request decodes
};

/// S: state slots that one request may hold at once, with those of its nodes that its locks keep. Throws
/// SpecError("engine.mamba_radix_cache_strategy") for extra_buffer_lazy without overlap, as the engine does.
/// Source: SGLang 0.5.23, run.
/// Example: 1 without a tree, no_buffer 3, extra_buffer 5, without overlap 4, lazy 4.
std::int64_t state_slots_per_request(const StateSlotHolding& holding);

/// What ReplaySSM keeps instead of the states of draft steps: the inputs of the last tokens, a row a request.
struct ReplayRing {
  std::int64_t row_bytes = 0;  ///< over all layers
  bool in_state_slots = false; ///< every state slot has a row; else one for each running request and one more
  bool operator==(const ReplayRing&) const = default;
};

/// What the memory of one rank is split by.
struct SplitInputs {
  double memory_gib = 0;             ///< X, free for caches after weights and the runtime's share, GiB
  std::int64_t state_slot_bytes = 0; ///< M, the states of all layers, >= 1
  std::int64_t token_bytes = 0;      ///< K and V of all layers, those of drafts among them, >= 1
  std::int64_t page_tokens = 1;      ///< tokens are taken page by page
  std::int64_t state_slots_per_request = 1; ///< S
  double full_memory_ratio = 0.9;   ///< R: memory of states over that of tokens
  std::optional<std::int64_t> max_mamba_cache_size;  ///< state slots over all attention ranks, instead of a ratio
  std::optional<std::int64_t> max_running_requests;  ///< over all attention ranks
  std::optional<std::int64_t> max_total_tokens;      ///< at most so many token slots; what they leave stays unused
  std::int64_t attention_data_parallel = 1;          ///< ranks that share requests, each with pools of its own
  bool radix_cache = true;
  std::int64_t draft_tokens = 0;    ///< D, drafts of a step, whose states lie outside the slots; 0: no speculation
  std::optional<ReplayRing> replay; ///< replaces the states of draft steps
  std::int64_t context_tokens = 0;  ///< longest sequence, >= 1
};

/// Where the number of state slots comes from.
enum class StateSlotCount {
  explicit_size,  ///< max_mamba_cache_size
  requests,       ///< max_running_requests, where nothing is kept for prefixes
  ratio,          ///< a share of the memory
};

inline constexpr auto state_slot_count_names = std::to_array<Named<StateSlotCount>>(
    {{StateSlotCount::explicit_size, "size"},
     {StateSlotCount::requests, "requests"},
     {StateSlotCount::ratio, "ratio"}});

constexpr std::string_view to_string(StateSlotCount value) { return name_in(state_slot_count_names, value); }

/// The memory of one rank as an engine with two pools splits it.
struct TokenStateSplit {
  StateSlotCount by = StateSlotCount::ratio;
  std::int64_t state_slots_per_request = 1;///< S
  std::int64_t state_slots = 0;        ///< K, without the dummy slot
  std::int64_t token_slots = 0;        ///< whole pages, without the dummy page
  std::int64_t max_running = 0;        ///< requests that run at once
  std::int64_t draft_requests = 0;     ///< requests that have states of draft steps, and one more: min(q, K // S) + 1
  std::int64_t draft_state_bytes = 0;  ///< states of draft steps, outside the slots
  std::int64_t ring_bytes = 0;         ///< rows of ReplaySSM, in and outside the slots
  std::int64_t token_memory_bytes = 0; ///< what is left for tokens, before whole tokens and pages
  bool operator==(const TokenStateSplit&) const = default;

  /// Requests of so many tokens at once: min(K // S, tokens // ceil_page(L)).
  std::int64_t requests_at(std::int64_t tokens, std::int64_t page_tokens) const;
};

/// The split, in the engine's own arithmetic: GiB as double, whole numbers last.
///   K by max_mamba_cache_size // DP; else, radix off, by q = max_running_requests // DP; else by B = X R / (1 + R):
///   floor((B - M) / M), with D drafts floor((B - M (1 + D)) / (M (1 + D / S)))
///   Rest = X - states of draft steps, tokens = floor(floor(Rest - (K + 1) M) / cell) in whole pages
///   max_running = min(q or clamp(int(tokens / context * 512), 2048, 4096), tokens // 2, K // S)
/// Throws SpecError where the engine refuses to start: no state slot, nothing left for tokens, no request that could
/// run, speculation without max_running_requests. Source: SGLang 0.5.23, run.
/// Example: 40 GiB, M 96,030,720, cell 15,360, S 5: K 210, 1,477,030 tokens, 42 requests.
TokenStateSplit split_memory(const SplitInputs& inputs);

/// Bytes that the two kinds of an elastic pool share, in one buffer: what is left for tokens in whole 4 KiB, and the
/// state slots. Source: SGLang 0.5.23 --enable-unified-memory, read; the first summand run.
struct UnifiedPool {
  std::int64_t token_part_bytes = 0;
  std::int64_t total_bytes = 0;
  std::int64_t state_in_tokens = 0;    ///< what a state costs at admission: ceil(M / cell)
  std::int64_t largest_tokens = 0;     ///< token slots if no state is held
  std::int64_t largest_states = 0;     ///< state slots if no token is held
  bool operator==(const UnifiedPool&) const = default;
};
UnifiedPool unified_pool(const SplitInputs& inputs, const TokenStateSplit& split);

/// What another ratio would do for requests of one length.
struct RatioAdvice {
  double balanced_ratio = 0;  ///< r* = S M / (cell L), at which both pools are full together
  double best_ratio = 0;      ///< the smallest multiple of a thousandth of r* at which most requests run
  TokenStateSplit best;       ///< the split there
  std::int64_t running_now = 0;   ///< requests of that length at once as it is split
  std::int64_t running_best = 0;  ///< the same at the best ratio
  double idle_percent = 0;    ///< of the memory, as it is split, when as many run as can
};

/// Advice for requests of `tokens` tokens, or nothing where no ratio lets one run. Pre: the inputs can be split.
std::optional<RatioAdvice> advise_ratio(const SplitInputs& inputs, const TokenStateSplit& split, std::int64_t tokens);

}  // namespace hybridkv
