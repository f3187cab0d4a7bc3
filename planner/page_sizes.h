#pragma once

#include <optional>
#include <span>
#include <vector>

#include "planner/arrangement.h"
#include "planner/derivation.h"
#include "planner/engine_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// Tokens of a table entry, where nothing makes them grow.
struct BlockSizes {
  std::int64_t attention = 0;  ///< B
  std::int64_t state = 0;      ///< C, the grid on which states are kept for prefixes
  std::optional<std::int64_t> window{};  ///< of layers with a sliding window, where these take one of their own
};

/// What becomes of a state that is larger or smaller than the page.
enum class StatePages {
  padded,  ///< it sizes the page with all others, and is padded to it
  split,   ///< it takes as many pages as it needs, and only the last one is padded
};

/// Specs with blocks, kernel blocks, unpadded pages and padding, and the page that all share.
struct SizedPages {
  std::vector<SpecPlan> specs;
  std::int64_t page_bytes = 0;  ///< P
};

/// How many percent of its bytes a page is larger than what lies in it: 100 (room - unpadded) / unpadded.
double padding_percent(std::int64_t room_bytes, std::int64_t unpadded_bytes);

/// Ids of pages of P bytes that one table entry takes: as many as its unpadded page fills or begins.
std::int64_t ids_per_entry(const SpecPlan& spec, std::int64_t page_bytes);

/// B of pages that hold a whole state: it follows from the largest state and the model's own attention
/// (attention_block_size). Throws SpecError for a block beyond largest_tokens.
/// Source: vLLM HybridAttentionMambaModelConfig; packs: vLLM PR 35703.
std::int64_t uniform_block_size(std::span<const SpecPlan> specs, const ModelSpec& model, const EngineSpec& engine,
                                const DerivationLog& log);

/// B and C where no page has to hold a state: B = A, the smallest block that user and backend allow, and C by
/// state_grid.
/// Throws as state_grid.
BlockSizes free_block_sizes(const ModelSpec& model, const EngineSpec& engine, const DerivationLog& log);

/// Blocks and pages where all specs share one page size.
///
/// Drafts and MTP layers take the B they find. P is the largest page; with split states that of attention. A page of
/// attention that divides P grows to it: its block becomes as many times B as its page goes into P, which is P // (N *
/// a1). States and attention that does not divide are padded to P. Hidden states take the largest divisor of B whose
/// tokens fit P. Layers whose sliding window takes a block of its own grow from that one.
/// Throws SpecError for hidden states that exceed a page, and as kernel_block_size.
/// Source: vLLM HybridAttentionMambaModelConfig, unify_kv_cache_spec_page_size (states: vLLM PR 45207),
/// get_kv_cache_groups; packs: vLLM PR 35703.
/// Example: B = 16, a1 = 4,096 and 2,048: P = 65,536, and the second spec takes blocks of 32 tokens.
SizedPages size_pages(std::vector<SpecPlan> specs, const BlockSizes& blocks, StatePages states,
                      const EngineSpec& engine, const LimitsSpec& limits, const DerivationLog& log);

/// Blocks and pages where every spec has a page of its own size: nothing grows, nothing is padded.
/// Throws as kernel_block_size.
std::vector<SpecPlan> size_own_pages(std::vector<SpecPlan> specs, const BlockSizes& blocks, const EngineSpec& engine,
                                     const LimitsSpec& limits, const DerivationLog& log);

}  // namespace hybridkv
