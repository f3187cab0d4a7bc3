#pragma once

#include <cstdint>

#include "simulator/replay_counts.h"
#include "simulator/schedule/request_record.h"
#include "simulator/slots/slot_settings.h"

namespace hybridkv {

/// What became of one prompt.
struct SlotRecord {
  std::int64_t index = 0;               ///< in the trace
  std::int64_t input_length = 0;        ///< tokens
  std::int64_t slot = -1;               ///< that took it; -1: none
  std::int64_t hit_tokens = 0;          ///< from which its states went on
  std::int64_t common_tokens = 0;       ///< that it shares with what the slot held, never its last token
  std::int64_t loaded_tokens = 0;       ///< of the saved prompt that the slot got for it; 0: none
  std::int64_t loaded_request = -1;     ///< the last one that had run in that
  std::int64_t prompts_saved = 0;       ///< of its slot and of idle ones
  std::int64_t checkpoints_made = 0;
  std::int64_t checkpoints_used = 0;    ///< restored by it that nobody had restored before, 0 or 1
  std::int64_t checkpoints_dropped = 0; ///< invalid for it, too near, too many, or of a slot that was cleared unsaved
  bool restored_stale = false;          ///< the checkpoint was made of other tokens: what follows is wrong
  RequestStatus status = RequestStatus::ok;
  bool operator==(const SlotRecord&) const = default;
};

/// Sums of such records. What attention alone matched is what prompts share with what their slots held; checkpoints
/// that were dropped for any cause count as evicted.
struct SlotStats : ReplayCounts {
  SlotSettings settings;
  std::int64_t prompts_saved = 0;
  std::int64_t prompts_loaded = 0;
  std::int64_t stale_restores = 0;  ///< checkpoints that were restored for other tokens than they were made of
  void add(const SlotRecord& record);
  bool operator==(const SlotStats&) const = default;
};

}  // namespace hybridkv
