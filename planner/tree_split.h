#pragma once

#include <span>

#include "planner/page_sizes.h"
#include "planner/strategies.h"
#include "planner/tree_pools.h"

namespace hybridkv {

/// Refuses what an engine with tree pools does not have, or what of it is not planned, and its keys for all others.
/// Throws SpecError with the key. Source: SGLang 0.5.23.
void validate_tree_engine(const ModelSpec& model, const EngineSpec& engine);

/// Tokens of a page: as set, 64 of a model with indexers, else 1. Source: SGLang 0.5.23, run; of indexers read.
std::int64_t tree_page(const ModelSpec& model, const EngineSpec& engine);

/// The strategy that the engine takes: as set; automatic is extra_buffer where steps overlap or pages have several
/// tokens, else no_buffer. Which models the engine counts as able to is not known in full: all are taken to be.
TreeStrategy tree_strategy(const EngineSpec& engine);

/// Tokens of a chunk of the model's scans, the longest of its layers'; 64 of a layer that names none, 1 of a short
/// convolution, which has no scan. Source: SGLang 0.5.23 mamba_chunk_size.
std::int64_t tree_scan_chunk(const ModelSpec& model);

/// Tokens between the states that are kept while decoding, as set or 256.
std::int64_t track_interval(const EngineSpec& engine);

/// R, memory of states over that of tokens, as set or 0.9. Source: SGLang 0.5.23 --mamba-full-memory-ratio.
double memory_ratio(const EngineSpec& engine);

/// G, the grid on which states of prompts are kept: the lcm of the page and of the larger of page and scan chunk.
/// Source: SGLang 0.5.23.
std::int64_t tree_checkpoint_grid(std::int64_t scan_chunk, std::int64_t page_tokens);

/// I, the grid of the states of a decode: lcm(G, track interval). Source: SGLang 0.5.23.
std::int64_t tree_decode_grid(std::int64_t checkpoint_grid, std::int64_t track_interval);

/// Pages of the user's size, and G, the grid on which states of prompts are kept: the lcm of the page and of the larger
/// of page and scan chunk, which is 64 where a layer names none; no_buffer keeps them where a chunk ends, grid 1.
/// Source: SGLang 0.5.23.
BlockSizes tree_block_sizes(const ModelSpec& model, const EngineSpec& engine, const DerivationLog& log);

/// The two pools of these specs. Keys of indexers that several tokens share count for each in whole bytes, rounded up.
/// Throws as split_memory. Source: SGLang 0.5.23.
TreePools make_tree_pools(std::span<const SpecPlan> specs, const BlockSizes& blocks, const ArrangeInputs& inputs);

}  // namespace hybridkv
