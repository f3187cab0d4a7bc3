#include "simulator/slots/slot_replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "planner/tensor_pool_rules.h"

namespace hybridkv {

namespace {

void at_least(std::int64_t least, std::int64_t value, const char* field) {
  if (value < least)
    throw SpecError(fmt::format("slots.{}", field), fmt::format("must be at least {}, is {}", least, value));
}

}  // namespace

SlotSettings slot_settings_of(const CachePlan& plan) {
  expects(plan.rows.has_value(), "a plan with rows by sequence");
  return {.slots = plan.rows->sequences,
          .cells = plan.arenas.front().usable_ids(),
          .checkpoints = plan.rows->checkpoints,
          .checkpoint_step = plan.rows->checkpoint_step_tokens,
          .rollback_tokens = plan.rows->rows_per_sequence - 1};
}

void SlotStats::add(const SlotRecord& record) {
  ++requests;
  too_long += record.status == RequestStatus::too_long ? 1 : 0;
  refused += record.status == RequestStatus::refused ? 1 : 0;
  if (record.status == RequestStatus::too_long) return;
  taken_prompt_tokens += record.input_length;
  if (record.status != RequestStatus::ok) return;
  prompt_tokens += record.input_length;
  hit_tokens += record.hit_tokens;
  requests_with_hit += record.hit_tokens > 0 ? 1 : 0;
  kv_match_tokens += record.common_tokens;
  checkpoints_made += record.checkpoints_made;
  checkpoints_used += record.checkpoints_used;
  checkpoints_evicted += record.checkpoints_dropped;
}

std::int64_t common_tokens(std::span<const TokenRun> a, std::span<const TokenRun> b) {
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i].chain == b[i].chain; ++i) {
    tokens = std::min(a[i].end_token, b[i].end_token);
    if (a[i].end_token != b[i].end_token) break;
  }
  return tokens;
}

SlotReplay::SlotReplay(const SlotSettings& settings) : settings_(settings) {
  at_least(1, settings.slots, "slots");
  at_least(1, settings.cells, "cells");
  at_least(0, settings.checkpoints, "checkpoints");
  at_least(0, settings.checkpoint_step, "checkpoint_step");
  at_least(1, settings.step_tokens, "step_tokens");
  at_least(0, settings.rollback_tokens, "rollback_tokens");
  slots_.resize(static_cast<std::size_t>(settings.slots));
}

std::size_t SlotReplay::choose(std::span<const TokenRun> prompt, std::int64_t tokens) const {
  std::size_t best = slots_.size();
  double most = settings_.least_similarity;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const double similarity =
        static_cast<double>(common_tokens(slots_[i].content, prompt)) / static_cast<double>(tokens);
    if (similarity > most) best = i, most = similarity;
  }
  if (best < slots_.size()) return best;
  // The last one of several that were never used.
  best = 0;
  for (std::size_t i = 1; i < slots_.size(); ++i)
    if (slots_[i].last_used <= slots_[best].last_used) best = i;
  return best;
}

template <class Holds>
void SlotReplay::drop_if(ServerSlot& slot, CheckpointDrop why, SlotRecord& record, Holds&& holds) const {
  std::erase_if(slot.checkpoints, [&](const SlotCheckpoint& checkpoint) {
    if (!holds(checkpoint)) return false;
    ++record.checkpoints_dropped;
    if (on_drop) on_drop(slot, checkpoint, why);
    return true;
  });
}

std::int64_t SlotReplay::resume(ServerSlot& slot, std::int64_t common, SlotRecord& record) const {
  std::int64_t from = common;
  if (slot.tokens() - common > settings_.rollback_tokens) {
    from = 0;
    for (SlotCheckpoint& checkpoint : slot.checkpoints) {
      if (checkpoint.tokens > common) break;
      from = checkpoint.tokens;
    }
    for (SlotCheckpoint& checkpoint : slot.checkpoints)
      if (from > 0 && checkpoint.tokens == from && !checkpoint.used) {
        checkpoint.used = true;
        ++record.checkpoints_used;
      }
  }
  drop_if(slot, CheckpointDrop::evicted, record,
          [&](const SlotCheckpoint& checkpoint) { return checkpoint.tokens > from; });
  return from;
}

void SlotReplay::make_checkpoint(ServerSlot& slot, std::int64_t tokens, SlotRecord& record) const {
  std::int64_t before = -1;
  drop_if(slot, CheckpointDrop::near, record, [&](const SlotCheckpoint& checkpoint) {
    const bool near = before >= 0 && checkpoint.request != record.index &&
                      checkpoint.tokens <= before + settings_.checkpoint_step;
    if (!near) before = checkpoint.tokens;
    return near;
  });
  std::int64_t left = std::ssize(slot.checkpoints);
  drop_if(slot, CheckpointDrop::evicted, record,
          [&](const SlotCheckpoint&) { return left-- >= settings_.checkpoints; });
  slot.checkpoints.push_back({tokens, record.index, false});
  ++record.checkpoints_made;
}

void SlotReplay::make_room(std::size_t for_slot, std::int64_t tokens, SlotRecord& record) {
  std::int64_t held = tokens;
  const ServerSlot* const own = &slots_[for_slot];
  for (const ServerSlot& slot : slots_)
    if (&slot != own) held += slot.tokens();
  for (ServerSlot& slot : slots_) {
    if (held <= settings_.cells) return;
    if (&slot == own || slot.content.empty()) continue;
    held -= slot.tokens();
    drop_if(slot, CheckpointDrop::evicted, record, [](const SlotCheckpoint&) { return true; });
    slot.content.clear();
  }
}

SlotRecord SlotReplay::run(const TraceRequest& request, std::span<const TokenRun> prompt) {
  const std::int64_t tokens = request.input_length;
  SlotRecord record{.index = request.index, .input_length = tokens};
  if (tokens > settings_.cells) {
    record.status = RequestStatus::refused;
    return record;
  }
  const std::size_t chosen = choose(prompt, tokens);
  ServerSlot& slot = slots_[chosen];
  record.slot = static_cast<std::int64_t>(chosen);
  record.common_tokens = std::min(common_tokens(slot.content, prompt), tokens - 1);
  record.hit_tokens = resume(slot, record.common_tokens, record);
  make_room(chosen, tokens, record);
  if (settings_.checkpoints > 0)
    for (const std::int64_t left : {checkpoint_tail_tokens + settings_.step_tokens, checkpoint_tail_tokens})
      if (tokens - left > record.hit_tokens) make_checkpoint(slot, tokens - left, record);
  slot.content.assign(prompt.begin(), prompt.end());
  slot.last_used = now_++;
  return record;
}

bool SlotReplay::generate(SlotRecord& record, std::span<const TokenRun> content) {
  expects(record.slot >= 0, "a prompt that was taken in");
  ServerSlot& slot = slots_[static_cast<std::size_t>(record.slot)];
  expects(common_tokens(slot.content, content) == slot.tokens(), "a sequence goes on with what its slot holds");
  const std::int64_t tokens = content.back().end_token;
  if (tokens > settings_.cells) return false;
  make_room(static_cast<std::size_t>(record.slot), tokens, record);
  slot.content.assign(content.begin(), content.end());
  return true;
}

}  // namespace hybridkv
