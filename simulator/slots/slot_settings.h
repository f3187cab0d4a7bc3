#pragma once

#include <cstdint>

#include "planner/cache_plan.h"
#include "planner/sequence_bytes.h"

namespace hybridkv {

/// A server whose slots each keep their last sequence, with checkpoints of its states on the host (llama.cpp).
struct SlotSettings {
  std::int64_t slots = 4;                ///< sequences, >= 1
  std::int64_t cells = 0;                ///< tokens that all slots keep together, >= slots
  bool unified = true;                   ///< slots share the cells; else each has its own part of them
  std::int64_t context_tokens = 0;       ///< of prompt and output of a slot; 0: as many as it may have cells
  std::int64_t batch_tokens = 2048;      ///< of one step, >= 1
  std::int64_t step_tokens = 512;        ///< of a pass over the layers, >= 1: a checkpoint lies so far before the tail
  std::int64_t window_tokens = 0;        ///< of layers that keep no more than their window; 0: there are none
  std::int64_t checkpoints = 32;         ///< of a slot, at most; 0: none
  std::int64_t checkpoint_step = 8192;   ///< once there are as many, older ones nearer to the one before are erased
  std::int64_t saved_bytes = std::int64_t(8192) << 20;  ///< of prompts saved on the host; 0: none, -1: no limit
  bool saves_idle = true;                ///< what idle slots hold is saved when a request starts
  float least_similarity = 0.1f;         ///< a slot is taken for its content only where it shares more of the prompt
  /// A checkpoint a single token longer than what a prompt goes on behind stays, as the server has it; false: it goes
  /// like all longer ones, and none is ever restored for other tokens.
  bool keeps_one_past = true;
  SequenceBytes bytes;                   ///< of what lies on the host
  bool operator==(const SlotSettings&) const = default;

  /// Tokens at which a slot is full.
  std::int64_t context_of_slot() const;
  bool saves_prompts() const { return saved_bytes != 0; }
  /// Throws SpecError, path "slots.FIELD", for unusable settings.
  void check() const;
};

/// The server of a plan with rows by sequence. Pre: it has them.
SlotSettings slot_settings_of(const CachePlan& plan);

}  // namespace hybridkv
