#pragma once

#include <cstdint>

#include "planner/engine_spec.h"
#include "planner/model_spec.h"

namespace hybridkv {

/// How many cells the sequences of llama.cpp have, and of how many tokens its steps are.
struct SequenceContext {
  std::int64_t sequences = 0;     ///< at once
  bool unified = true;            ///< they share the cells
  std::int64_t cells = 0;         ///< of all of them: n_ctx
  std::int64_t slot_cells = 0;    ///< that one may have: n_ctx_seq
  std::int64_t batch_tokens = 0;  ///< of a step
  std::int64_t step_tokens = 0;   ///< of a pass over the layers

  std::int64_t streams() const { return unified ? 1 : sequences; }
  /// Cells of a layer with that window, of all sequences.
  std::int64_t window_cells(std::int64_t window_tokens) const;
};

/// Cells come in so many.
inline constexpr std::int64_t cell_unit = 256;

/// Do all sequences share the cells? As set (--kv-unified), else where their number is left to the server.
bool shares_cells(const EngineSpec& engine);

/// The context where so many cells are asked for: padded, and shared out where each sequence has its own.
/// Source: llama.cpp b11312, run.
SequenceContext context_of(const EngineSpec& engine, std::int64_t asked_cells);

/// Rows of a sequence beside its running state, for rejected drafts: as many as are drafted, where the drafter is one
/// that hidden states go to and the model is one of those that have them. Source: llama.cpp b11312, run.
std::int64_t rows_for_drafts(const ModelSpec& model, const EngineSpec& engine);

/// Was the engine seen to end while it starts with this model and cells in so many parts?
/// Source: llama.cpp b11312, run.
bool may_end_where_split(const ModelSpec& model, const EngineSpec& engine);

}  // namespace hybridkv
