#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/named_values.h"

namespace hybridkv {

/// What a server logs, in our words.
enum class SlotEventKind {
  lcp,           ///< a slot took a prompt for what it holds: slot, similarity, keep
  lru,           ///< or as it was used longest ago: slot
  by_id,         ///< or as the request asked for it: slot
  save,          ///< a sequence is to be saved: tokens, bytes
  known,         ///< an entry begins with it
  too_big,       ///< it is larger than the limit: bytes
  obsolete,      ///< an entry that it goes on from is removed: tokens
  room,          ///< the oldest entry is removed to make room for it
  limit_tokens,  ///< or as there are too many tokens
  found,         ///< an entry goes into the slot: keep, similarity
  load_failed,   ///< it finds no cells
  idle,          ///< another slot is idle: slot
  clear,         ///< a slot gives up what it holds: slot, tokens
  state,         ///< of the entries: number, bytes, limit_bytes, tokens (of all cells), limit_tokens
  entry,         ///< one of them: tokens, number (of its checkpoints), bytes
  restore,       ///< a checkpoint is restored: tokens, bytes
  reset,         ///< none is: the prompt begins anew
  invalid,       ///< a checkpoint lies behind where the prompt goes on: tokens
  chunk,         ///< a step begins: tokens before it
  create,        ///< a checkpoint is made: number (with it), tokens, bytes
  supersede,     ///< instead of one of as many tokens: tokens
  near,          ///< one that lay near another is erased for it: tokens
  oldest,        ///< or the oldest one: tokens
  purge,         ///< cells ran out, another slot gives way: slot, tokens
  retry,         ///< the step is tried again: tokens (of it)
  error,         ///< the prompt is longer than the slot's context
  end,           ///< slot, tokens (that it holds), number (1: its context is full)
};

inline constexpr auto slot_event_names = std::to_array<Named<SlotEventKind>>(
    {{SlotEventKind::lcp, "lcp"},
     {SlotEventKind::lru, "lru"},
     {SlotEventKind::by_id, "by_id"},
     {SlotEventKind::save, "save"},
     {SlotEventKind::known, "known"},
     {SlotEventKind::too_big, "too_big"},
     {SlotEventKind::obsolete, "obsolete"},
     {SlotEventKind::room, "room"},
     {SlotEventKind::limit_tokens, "limit_tokens"},
     {SlotEventKind::found, "found"},
     {SlotEventKind::load_failed, "load_failed"},
     {SlotEventKind::idle, "idle"},
     {SlotEventKind::clear, "clear"},
     {SlotEventKind::state, "state"},
     {SlotEventKind::entry, "entry"},
     {SlotEventKind::restore, "restore"},
     {SlotEventKind::reset, "reset"},
     {SlotEventKind::invalid, "invalid"},
     {SlotEventKind::chunk, "chunk"},
     {SlotEventKind::create, "create"},
     {SlotEventKind::supersede, "supersede"},
     {SlotEventKind::near, "near"},
     {SlotEventKind::oldest, "oldest"},
     {SlotEventKind::purge, "purge"},
     {SlotEventKind::retry, "retry"},
     {SlotEventKind::error, "error"},
     {SlotEventKind::end, "end"}});

constexpr std::string_view to_string(SlotEventKind kind) { return name_in(slot_event_names, kind); }

/// One of them, with the numbers that belong to it.
struct SlotEvent {
  SlotEventKind kind = SlotEventKind::end;
  std::int64_t slot = -1;
  std::int64_t tokens = 0;
  std::int64_t number = 0;
  std::int64_t bytes = 0;
  std::int64_t limit_bytes = 0;
  std::int64_t limit_tokens = 0;
  float similarity = 0;  ///< what both share, of the prompt
  float keep = 0;        ///< and of what the slot, or the entry, holds
};

/// Who is told of them; nobody unless set.
using SlotLog = std::function<void(const SlotEvent&)>;

inline void tell(const SlotLog& log, const SlotEvent& event) {
  if (log) log(event);
}

}  // namespace hybridkv
