#pragma once

#include <cstdint>
#include <span>

#include "simulator/slots/server_slot.h"
#include "simulator/slots/slot_settings.h"

namespace hybridkv {

/// The steps in which a server computes a prompt, and before which of them it makes a checkpoint.
/// Source: llama.cpp b11312 server, run.
class PromptSteps {
 public:
  /// `message_starts`: tokens of the prompt at which messages of the user start, ascending. All live as long.
  PromptSteps(const SlotSettings& settings, std::int64_t tokens, std::span<const std::int64_t> message_starts)
      : settings_(settings), tokens_(tokens), message_starts_(message_starts) {}

  /// Where the step that starts at a token ends: with the batch, where the tail of the prompt begins, a pass over the
  /// layers before it, or at a message of the user that is worth a checkpoint.
  std::int64_t end_of(std::int64_t start, const CheckpointList& made) const;

  /// Is a checkpoint made before the step [start, end)?
  bool is_kept(std::int64_t start, std::int64_t end, const CheckpointList& made) const;

 private:
  bool begins_message(std::int64_t start, const CheckpointList& made) const;

  const SlotSettings& settings_;
  std::int64_t tokens_;
  std::span<const std::int64_t> message_starts_;
};

}  // namespace hybridkv
