#pragma once

#include "planner/arrangement.h"
#include "planner/derivation.h"
#include "planner/model_spec.h"
#include "planner/page_sizes.h"

namespace hybridkv {

/// Refuse what TensorRT-LLM, and llama.cpp, do not have, or what of them is not planned. Throw SpecError with the key.
void validate_pool_groups(const ModelSpec& model, const EngineSpec& engine);
void validate_sequence_rows(const ModelSpec& model, const EngineSpec& engine);

/// Refuses models that are no plain hybrids, for engines that are planned for these alone: with attention and recurrent
/// layers, without windows and other caches. Throws SpecError.
void refuse_unlike_hybrids(const ModelSpec& model, const EngineSpec& engine);

/// Tokens between the periodic checkpoints of TensorRT-LLM's first manager, as set or 256.
/// Source: mamba_state_cache_interval, read.
std::int64_t checkpoint_interval(const EngineSpec& engine);

/// Sequences of llama.cpp, as set (--parallel) or 4. Source: read.
std::int64_t sequences_of(const EngineSpec& engine);

/// B and C. TensorRT-LLM: blocks of as many tokens as set (tokens_per_block) or 32; checkpoints at whole blocks,
/// periodic ones at every interval. llama.cpp: cells of one token.
BlockSizes tensor_pool_block_sizes(const EngineSpec& engine, const DerivationLog& log);

/// What the derivation says of specs whose pages have sizes of their own: groups, pages, steps from one to the next id,
/// padding.
void derive_own_pages(Arrangement& arrangement, const DerivationLog& log);

}  // namespace hybridkv
