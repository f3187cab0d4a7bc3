#pragma once

#include <cstdint>

#include "attention/attention_spec.h"
#include "planner/cell_type.h"
#include "planner/engine_spec.h"

namespace hybridkv {

/// Those of an engine. Throws SpecError for K and V of a type that cells do not have, for a V in blocks without flash
/// attention, and for a latent of two types. Source: llama.cpp b11312, run.
CellTypes cell_types_of(const EngineSpec& engine);
void check_cell_types(const CellTypes& types, const AttentionSpec& layer, const EngineSpec& engine);

/// Bytes of so many elements, a whole number of blocks of 32. Throws SpecError for others.
std::int64_t cell_row_bytes(CellType type, std::int64_t elements);

}  // namespace hybridkv
