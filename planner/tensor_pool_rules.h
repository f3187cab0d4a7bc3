#pragma once

#include "planner/arrangement.h"
#include "planner/derivation.h"
#include "planner/model_spec.h"
#include "planner/page_sizes.h"

namespace hybridkv {

/// Refuses what llama.cpp does not have, or what of it is not planned. Throws SpecError with the key.
void validate_sequence_rows(const ModelSpec& model, const EngineSpec& engine);

/// Refuses models that are no hybrids, for engines that are planned for these alone: with attention and recurrent
/// layers, without windows. Throws SpecError.
void refuse_unlike_hybrids(const ModelSpec& model, const EngineSpec& engine);

/// The same, and models that cache more than their layers do, and layers whose K and V differ in size.
void refuse_unplanned_layers(const ModelSpec& model, const EngineSpec& engine);

/// Sequences of llama.cpp, as set (--parallel) or 4. Source: read.
std::int64_t sequences_of(const EngineSpec& engine);

/// B and C of llama.cpp: cells of one token.
BlockSizes tensor_pool_block_sizes(const EngineSpec& engine, const DerivationLog& log);

/// What the derivation says of specs whose pages have sizes of their own: groups, pages, steps from one to the next id,
/// padding.
void derive_own_pages(Arrangement& arrangement, const DerivationLog& log);

}  // namespace hybridkv
