#pragma once

#include <cstdint>
#include <optional>

#include "attention/attention_spec.h"
#include "planner/engine_spec.h"
#include "planner/row_settings.h"

namespace hybridkv {

/// How the cells of strategy sequence_rows keep K and V.
struct CellTypes {
  CellType key = CellType::f16;
  CellType value = CellType::f16;
  bool operator==(const CellTypes&) const = default;

  /// One element type for both, or none where blocks of elements are kept, or two types.
  std::optional<DType> element() const;
};

/// Those of an engine. Throws SpecError for K and V of a type that cells do not have, for a V in blocks without flash
/// attention, and for a latent of two types. Source: llama.cpp b11312, run.
CellTypes cell_types_of(const EngineSpec& engine);
void check_cell_types(const CellTypes& types, const AttentionSpec& layer, const EngineSpec& engine);

/// Bytes of so many elements, a whole number of blocks of 32. Throws SpecError for others.
std::int64_t cell_row_bytes(CellType type, std::int64_t elements);

}  // namespace hybridkv
