#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/checked.h"
#include "planner/sequence_bytes.h"

namespace hybridkv {

/// A checkpoint of llama.cpp lies so many tokens before the end of a prompt, whose last tokens are computed by
/// themselves. Source: llama.cpp b11312 server, run.
inline constexpr std::int64_t checkpoint_tail_tokens = 4;

/// How the sequences of strategy sequence_rows share cells, and what they keep in the memory of the host.
struct SequenceRows {
  static constexpr int mib_bits = 20;      ///< what saved prompts may take is set in MiB

  std::int64_t sequences = 0;              ///< at once
  std::int64_t rows_per_sequence = 0;      ///< the running state, and those after drafts that may be rejected
  bool unified = true;                     ///< all sequences share the cells
  std::int64_t cells = 0;                  ///< of all sequences
  std::int64_t slot_cells = 0;             ///< that one may have, its context
  std::int64_t batch_tokens = 0;           ///< of a step
  std::int64_t step_tokens = 0;            ///< of a pass over the layers
  std::int64_t window_tokens = 0;          ///< of layers that keep no more; 0: there are none
  std::int64_t checkpoints = 0;            ///< of a sequence, at most; 0: none
  std::int64_t checkpoint_step_tokens = 0; ///< once there are as many, older ones that lie nearer are dropped
  std::int64_t checkpoint_bytes = 0;       ///< of one behind a whole context
  std::int64_t saved_bytes = 0;            ///< of prompts that are saved beside them; 0: none, -1: no limit
  bool saves_idle = true;                  ///< what idle slots hold is saved when a request starts
  std::int64_t least_similarity_percent = 0;  ///< of a prompt, that a slot must hold to be taken for it
  bool may_end = false;                    ///< the engine was seen to end with so many parts of the cells
  SequenceBytes bytes;                     ///< of what is copied to the host
  bool operator==(const SequenceRows&) const = default;

  /// What saved prompts may take, MiB; -1: no limit.
  std::int64_t saved_mib() const { return saved_bytes < 0 ? -1 : saved_bytes >> mib_bits; }
  /// Of the host, when every sequence has all its checkpoints.
  std::int64_t host_bytes() const { return Checked(sequences) * checkpoints * checkpoint_bytes; }

  /// Tokens before the end of a prompt at which it leaves its last checkpoint, and its first one.
  std::int64_t nearest_checkpoint() const { return std::min(batch_tokens, checkpoint_tail_tokens); }
  std::int64_t farthest_checkpoint() const {
    return step_tokens > checkpoint_tail_tokens ? std::min(batch_tokens, step_tokens + checkpoint_tail_tokens)
                                                : nearest_checkpoint();
  }
  /// The nearest of them that lies at least so many tokens before the end; nothing where none does.
  std::optional<std::int64_t> checkpoint_before_end(std::int64_t tokens) const {
    if (nearest_checkpoint() >= tokens) return nearest_checkpoint();
    return farthest_checkpoint() >= tokens ? std::optional(farthest_checkpoint()) : std::nullopt;
  }
};

}  // namespace hybridkv
