#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "planner/cache_plan.h"
#include "simulator/replay_counts.h"
#include "simulator/schedule/request_record.h"
#include "simulator/trace/trace.h"

namespace hybridkv {

/// A server whose slots each keep their last sequence, and checkpoints of its states on the host (llama.cpp).
struct SlotSettings {
  std::int64_t slots = 4;                ///< sequences, >= 1
  std::int64_t cells = 0;                ///< tokens that all slots keep together, >= 1
  std::int64_t checkpoints = 32;         ///< of a slot, at most; 0: none
  std::int64_t checkpoint_step = 8192;   ///< older ones that lie nearer to the one before are dropped
  std::int64_t step_tokens = 512;        ///< of the last whole step before the tail of a prompt, >= 1
  /// Tokens by which a running state can be taken back, even where fewer were computed since a checkpoint was restored.
  std::int64_t rollback_tokens = 0;
  double least_similarity = 0.1;         ///< a slot is taken for its content only where it shares more of the prompt
  bool operator==(const SlotSettings&) const = default;
};

/// The settings of a plan with rows by sequence. Pre: it has them.
SlotSettings slot_settings_of(const CachePlan& plan);

/// What became of one prompt.
struct SlotRecord {
  std::int64_t index = 0;               ///< in the trace
  std::int64_t input_length = 0;        ///< tokens
  std::int64_t slot = -1;               ///< that took it; -1: none
  std::int64_t hit_tokens = 0;          ///< from which its states went on
  std::int64_t common_tokens = 0;       ///< that it shares with what the slot held, never its last token
  std::int64_t checkpoints_made = 0;
  std::int64_t checkpoints_used = 0;    ///< restored by it that nobody had restored before, 0 or 1
  std::int64_t checkpoints_dropped = 0; ///< invalid for it, too near, too many, or of a slot that was cleared
  RequestStatus status = RequestStatus::ok;
  bool operator==(const SlotRecord&) const = default;
};

/// Sums of such records. What attention alone matched is what prompts share with what their slots held; checkpoints
/// that were dropped for any cause count as evicted.
struct SlotStats : ReplayCounts {
  SlotSettings settings;
  void add(const SlotRecord& record);
  bool operator==(const SlotStats&) const = default;
};

/// The state of a sequence after so many tokens.
struct SlotCheckpoint {
  std::int64_t tokens = 0;
  std::int64_t request = 0;             ///< that made it
  bool used = false;
  bool operator==(const SlotCheckpoint&) const = default;
};

/// Why a slot no longer has a checkpoint.
enum class CheckpointDrop {
  near,     ///< it lay nearer to the one before it than the step
  evicted,  ///< there were too many, or its sequence gave way to another one
};

/// What a slot keeps.
struct ServerSlot {
  std::vector<TokenRun> content;        ///< of its last sequence; empty: nothing
  std::list<SlotCheckpoint> checkpoints;///< by their tokens
  std::int64_t last_used = -1;          ///< by the requests before it; -1: never
  std::int64_t tokens() const { return content.empty() ? 0 : content.back().end_token; }
};

/// Tokens from the start that two prompts agree on.
std::int64_t common_tokens(std::span<const TokenRun> a, std::span<const TokenRun> b);

/// Runs prompts one at a time through the slots of a server, with the tokens that they generate where the trace has
/// them.
///
/// The slot whose content shares most of the prompt takes it, where that is more than `least_similarity` of it, else
/// the one that was used longest ago. It goes on where its content ends, or as far back as a running state can be
/// taken; else from the last checkpoint in what both share, and without one from the start. Checkpoints behind that are
/// dropped. New ones are made where the last step and the tail of the prompt begin; before, those of other requests
/// that lie nearer than `checkpoint_step` to the one before them are dropped, and the first ones where there are too
/// many. Where the cells do not suffice, other slots are cleared in their order.
/// Source: llama.cpp server, read. Time of a request is linear in the runs of the slots.
class SlotReplay {
 public:
  /// Throws SpecError, path "slots.FIELD", for unusable settings.
  explicit SlotReplay(const SlotSettings& settings);

  /// Runs one prompt. A prompt that all cells together do not hold is refused and changes nothing.
  SlotRecord run(const TraceRequest& request, std::span<const TokenRun> prompt);

  /// Lets the sequence of a prompt that was taken in go on with what it generated: `content` is all that its slot holds
  /// then. Other slots are cleared where the cells do not suffice, which is entered into the record. False, and nothing
  /// changes, where all cells together do not hold it.
  /// Pre: no prompt was run since; `content` begins with what the slot holds.
  bool generate(SlotRecord& record, std::span<const TokenRun> content);

  const std::vector<ServerSlot>& slots() const { return slots_; }
  const SlotSettings& settings() const { return settings_; }
  /// Where set, called with what a slot drops while it still holds the sequence of its earlier checkpoints.
  std::function<void(const ServerSlot&, const SlotCheckpoint&, CheckpointDrop)> on_drop;

 private:
  std::size_t choose(std::span<const TokenRun> prompt, std::int64_t tokens) const;
  // Tokens from which the states of the slot go on, and what it drops for it.
  std::int64_t resume(ServerSlot& slot, std::int64_t common, SlotRecord& record) const;
  void make_checkpoint(ServerSlot& slot, std::int64_t tokens, SlotRecord& record) const;
  void make_room(std::size_t for_slot, std::int64_t tokens, SlotRecord& record);
  // Drops the checkpoints that satisfy `holds`, from the first one on.
  template <class Holds>
  void drop_if(ServerSlot& slot, CheckpointDrop why, SlotRecord& record, Holds&& holds) const;

  SlotSettings settings_;
  std::vector<ServerSlot> slots_;
  std::int64_t now_ = 0;
};

}  // namespace hybridkv
