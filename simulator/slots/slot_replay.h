#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "simulator/slots/checkpoints.h"
#include "simulator/slots/prompt_cache.h"
#include "simulator/slots/server_slot.h"
#include "simulator/slots/slot_event.h"
#include "simulator/slots/slot_settings.h"
#include "simulator/slots/slot_stats.h"
#include "simulator/trace/trace.h"

namespace hybridkv {

/// What a request says beside its prompt.
struct SlotOptions {
  /// All that its slot holds at its end, prompt and output without the last token of it; empty: one token is generated,
  /// so that the slot holds the prompt.
  std::span<const TokenRun> held = {};
  bool reuses = true;                      ///< cache_prompt
  std::optional<std::int64_t> slot = {};   ///< id_slot
  std::span<const std::int64_t> message_starts = {};  ///< tokens at which messages of the user start, ascending
};

/// Requests one at a time through the slots of a server, as it serves them: a slot is chosen (slot_choice.h), its
/// content is swapped with a saved prompt where that fits better (prompt_cache.h), idle slots are saved, a prompt that
/// fills the slot is refused, the sequence goes on from its end or a checkpoint (checkpoints.h), and steps leave
/// checkpoints (prompt_steps.h). Slots of a unified cache share its cells: they are cleared once they are saved, and
/// where cells run out the first other slot gives way.
/// Source: llama.cpp b11312 server, run. Time of a request is linear in the runs of the slots and of saved prompts.
class SlotReplay {
 public:
  /// Throws SpecError, path "slots.FIELD", for unusable settings.
  explicit SlotReplay(const SlotSettings& settings);
  SlotReplay(const SlotReplay&) = delete;
  SlotReplay& operator=(const SlotReplay&) = delete;

  /// Runs one request to its end. One whose prompt fills a slot is refused; what comes before that has happened.
  SlotRecord run(const TraceRequest& request, std::span<const TokenRun> prompt, const SlotOptions& options = {});

  const std::vector<ServerSlot>& slots() const { return slots_; }
  const PromptCache& saved() const { return saved_; }
  const SlotSettings& settings() const { return settings_; }
  /// Where set, told all that happens.
  SlotLog on_event;
  /// Where set, called with checkpoints that are erased as they lay near another one.
  std::function<void(const SlotCheckpoint&)> on_near;

 private:
  void clear(std::size_t number);
  std::int64_t cells_of_others(std::size_t number) const;
  void swap_saved(std::size_t number, std::span<const TokenRun> prompt, SlotRecord& record);
  void save_idle(std::size_t running, SlotRecord& record);
  /// Tokens from which the slot goes on, and what it drops for it.
  std::int64_t resume(ServerSlot& slot, std::span<const TokenRun> prompt, std::int64_t common, SlotRecord& record);
  void compute(std::size_t number, std::span<const TokenRun> prompt, const SlotOptions& options, SlotRecord& record);
  /// Other slots are cleared until all tokens of a step find cells.
  void take_cells(std::size_t number, std::int64_t start, std::int64_t end, SlotRecord& record);
  void generate(std::size_t number, std::span<const TokenRun> held, SlotRecord& record);

  SlotSettings settings_;
  std::vector<ServerSlot> slots_;
  PromptCache saved_;
  std::int64_t now_ = 0;
};

}  // namespace hybridkv
