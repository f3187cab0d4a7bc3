#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <span>

#include "simulator/slots/server_slot.h"
#include "simulator/slots/slot_event.h"
#include "simulator/slots/slot_settings.h"

namespace hybridkv {

/// Sequences of slots that were saved on the host, oldest first: tokens, K and V, states and checkpoints.
/// Source: llama.cpp b11312 server, run.
class PromptCache {
 public:
  /// `settings` and `log` live as long.
  PromptCache(const SlotSettings& settings, const SlotLog& log) : settings_(settings), log_(log) {}

  /// Saves what a slot holds, unless an entry begins with it all or it is larger than the limit. Entries that it goes
  /// on from go, then the oldest until it fits. False where nothing was saved.
  bool save(const SavedSequence& held);

  /// Gives the slot the entry that shares more with the prompt than the slot does, both of itself and of the prompt,
  /// and the most of these. `free_cells`: that the slot can have. Where they do not suffice the slot is left empty and
  /// the entry stays. Returns the tokens of what was loaded, 0 where nothing was.
  std::int64_t load(ServerSlot& slot, std::int64_t number, std::span<const TokenRun> prompt, std::int64_t free_cells);

  /// Drops the oldest entries while there are too many tokens: more than all cells hold, or more than fit the bytes by
  /// the mean of the entries. Of bytes there are never too many, since what is saved makes room for itself.
  void trim();

  const std::list<SavedSequence>& entries() const { return entries_; }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t tokens() const;

 private:
  std::int64_t bytes_of(const SavedSequence& entry) const;
  std::list<SavedSequence>::iterator best_for(const ServerSlot& slot, std::span<const TokenRun> prompt);
  std::list<SavedSequence>::iterator remove(std::list<SavedSequence>::iterator entry);
  std::int64_t limit_tokens() const;
  void tell_entries() const;

  const SlotSettings& settings_;
  const SlotLog& log_;
  std::list<SavedSequence> entries_;
  std::int64_t bytes_ = 0;  // of all of them, with their checkpoints
};

}  // namespace hybridkv
