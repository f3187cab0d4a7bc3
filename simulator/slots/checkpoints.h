#pragma once

#include <cstdint>
#include <functional>

#include "simulator/slots/server_slot.h"
#include "simulator/slots/slot_event.h"
#include "simulator/slots/slot_settings.h"

namespace hybridkv {

/// What a prompt and the slot that takes it have in common.
struct ResumeAsked {
  std::int64_t prompt_tokens = 0;
  std::int64_t common_tokens = 0;  ///< 0 where nothing is to be reused
};

/// Whether a sequence can go on only from a checkpoint: its states are those behind its last token, and layers with a
/// window see no further back.
bool needs_checkpoint(const SavedSequence& held, const ResumeAsked& asked, std::int64_t window_tokens);

/// The checkpoint from which the prompt goes on then: the last one in the list that lies before it. None: null.
/// Source: llama.cpp b11312 server, run.
SlotCheckpoint* usable_checkpoint(CheckpointList& list, const ResumeAsked& asked, std::int64_t window_tokens);

/// Erases those behind the token from which a prompt goes on, and returns how many they were. One that is a single
/// token longer stays, although its last token may be another one: it is restored later for a prompt that it is not of.
/// Source: llama.cpp b11312 server, run.
std::int64_t erase_behind(CheckpointList& list, std::int64_t token, const SlotLog& log);

/// Makes room in a list of at most `settings.checkpoints` and adds one. Only where it would be full with it, those of
/// other requests that lie nearer than the step to the one before them go, from the oldest on; then the first ones;
/// then one of as many tokens. Tells of each, and calls `near` with the first of these. Returns how many went.
/// Source: llama.cpp b11312 server, run.
std::int64_t add_checkpoint(CheckpointList& list, const SlotCheckpoint& made, const SlotSettings& settings,
                            const SlotLog& log, const std::function<void(const SlotCheckpoint&)>& near);

}  // namespace hybridkv
