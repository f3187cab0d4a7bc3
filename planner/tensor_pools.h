#pragma once

#include <cstdint>

#include "base/checked.h"

namespace hybridkv {

/// A checkpoint of llama.cpp lies so many tokens before the end of a prompt, whose last tokens are computed by
/// themselves. Source: llama.cpp server, read.
inline constexpr std::int64_t checkpoint_tail_tokens = 4;

/// What strategy sequence_rows keeps beside the device: checkpoints of states in the memory of the host.
struct SequenceRows {
  std::int64_t sequences = 0;              ///< at once
  std::int64_t rows_per_sequence = 0;      ///< 1 + s
  std::int64_t checkpoints = 0;            ///< of a sequence, at most; 0: none
  std::int64_t checkpoint_step_tokens = 0; ///< older ones that lie nearer to each other are dropped
  std::int64_t checkpoint_bytes = 0;       ///< of one: the states of all layers
  bool operator==(const SequenceRows&) const = default;

  /// Of the host, when every sequence has all its checkpoints.
  std::int64_t host_bytes() const { return Checked(sequences) * checkpoints * checkpoint_bytes; }
};

}  // namespace hybridkv
