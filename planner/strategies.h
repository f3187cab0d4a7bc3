#pragma once

#include <vector>

#include "planner/arrangement.h"
#include "planner/derivation.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// What every strategy arranges by.
struct ArrangeInputs {
  const ModelSpec& model;
  const EngineSpec& engine;
  const LimitsSpec& limits;
  const DerivationLog& log;
};

/// The rule of a strategy that arranges apart from how engines with blocks do it.
constexpr RuleOf rule_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::compact_slots: return RuleOf::compact_slots;
    case Strategy::two_level: return RuleOf::two_level;
    default: return RuleOf::small_pages;
  }
}

// One function a strategy, each in a file of its own. They fill in specs, groups, arenas, lanes, pools and extras; the
// settings that demand depends on are there. All throw SpecError for what cannot be arranged.

/// Pages of one size for all layers, N attention layers a page; B follows from the largest state.
/// Source: vLLM HybridAttentionMambaModelConfig, get_kv_cache_groups; packs: vLLM PR 35703.
void arrange_packed_attention(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs);

/// One allocation of W bytes a block for all layers, in one of six orders; N = 1. Pages of one size, B following from
/// the largest state; where the bytes of a block lie together pages of several sizes may share it. A stage of a
/// pipeline keeps its own layers of every group. Source: vLLM 0.33 get_kv_cache_groups, get_kv_cache_config.
void arrange_one_allocation(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs);

/// An arena a spec: tokens in pages of N * B * a1, states in slots of exactly M (rounded up to whole elements). States
/// get engine.state_requests requests' slots, or ratio / (1 + ratio) of the memory; tokens the rest, shared so that a
/// longest request needs the same part of each. Modelled; the ratio is SGLang's --mamba-full-memory-ratio.
void arrange_dual_pool(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs);

/// One arena of pages of N * B * a1 with the smallest B; a state takes ceil(M / P) ids of it, which need not be
/// adjacent. Modelled.
void arrange_small_pages(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs);

/// One allocation with two kinds of ids: slots of the states of all recurrent layers of a request side by side, so that
/// one copy moves a state, and behind them tokens in pages of N * B * a1, a lane a page as in a dual pool. Memory is
/// shared out as a dual pool does. Read: a proposal, no engine's.
void arrange_compact_slots(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs);

/// One allocation cut into large pages, each the least common multiple of the small pages of all kinds of layers: all
/// layers of a kind for B tokens, or one state of all of them. A large page belongs to one kind at a time, of one
/// request, and is split evenly among its small pages, which table entries number. N = 1.
/// Throws SpecError("engine.block_size_tokens") where memory has no room for the null page and one of each kind, with
/// a block that helps. Read: Jenga, SOSP 2025.
void arrange_two_level(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs);

/// Two pool groups: blocks of tokens, which hold all attention layers side by side, and checkpoints, which hold the
/// states of all recurrent layers, a pool for each tensor. Memory goes to them in grains (planner/grain_split.h).
/// Source: TensorRT-LLM kv_cache_manager_v2 and, where it is asked for, its first manager, run (planner/group_split.h).
void arrange_pool_groups(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs);

/// Cells of one token for all sequences, and 1 + s rows of states a sequence; each layer has a tensor of convolution
/// rows and one of recurrent rows. Rows come first, cells take the rest of the memory.
/// Source: llama.cpp llama_memory_recurrent, llama_kv_cache, read.
void arrange_sequence_rows(Arrangement& arrangement, std::vector<SpecPlan> specs, const ArrangeInputs& inputs);

}  // namespace hybridkv
