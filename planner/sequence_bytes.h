#pragma once

#include <cstdint>
#include <optional>

namespace hybridkv {

/// K and V of one token in a cache of cells.
struct CellBytes {
  std::int64_t tensors = 0;    ///< of all its layers: a K and a V each, a latent has no V
  std::int64_t per_token = 0;  ///< of all of them
  bool operator==(const CellBytes&) const = default;
};

/// What llama.cpp writes of one sequence to the memory of the host, to the byte.
/// Source: llama.cpp b11312, run.
struct SequenceBytes {
  std::int64_t state_layers = 0;
  std::int64_t row_bytes = 0;       ///< one row of all states
  std::int64_t streams = 1;         ///< of the cells: one, or one a sequence; counted though one is written
  std::int64_t position_bytes = 12; ///< of a token beside K and V
  CellBytes tokens;                 ///< of the layers that see every token
  std::optional<CellBytes> window;  ///< of those with a window
  std::int64_t window_tokens = 0;
  std::optional<CellBytes> draft;   ///< of a drafter's context, which has no states
  bool operator==(const SequenceBytes&) const = default;

  /// One state of every layer.
  std::int64_t states() const;
  /// A checkpoint behind so many tokens: states, what a window looks back on, and all K and V of a drafter.
  std::int64_t checkpoint(std::int64_t length) const;
  /// A saved prompt of so many tokens, without the checkpoints that are saved with it.
  std::int64_t prompt(std::int64_t length) const;

 private:
  std::int64_t cells(const CellBytes& cache, std::int64_t length) const;
};

}  // namespace hybridkv
