#include "simulator/slots/slot_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace hybridkv {

namespace {

void at_least(std::int64_t least, std::int64_t value, const char* field) {
  if (value < least)
    throw SpecError(fmt::format("slots.{}", field), fmt::format("must be at least {}, is {}", least, value));
}

}  // namespace

std::int64_t SlotSettings::context_of_slot() const {
  const std::int64_t own = unified ? cells : cells / slots;
  return context_tokens > 0 ? std::min(context_tokens, own) : own;
}

void SlotSettings::check() const {
  at_least(1, slots, "slots");
  at_least(unified ? 1 : slots, cells, "cells");
  at_least(0, context_tokens, "context_tokens");
  at_least(1, batch_tokens, "batch_tokens");
  at_least(1, step_tokens, "step_tokens");
  at_least(0, window_tokens, "window_tokens");
  at_least(0, checkpoints, "checkpoints");
  at_least(0, checkpoint_step, "checkpoint_step");
  at_least(-1, saved_bytes, "saved_bytes");
}

SlotSettings slot_settings_of(const CachePlan& plan) {
  expects(plan.rows.has_value(), "a plan with rows by sequence");
  const SequenceRows& rows = *plan.rows;
  return {.slots = rows.sequences,
          .cells = rows.cells,
          .unified = rows.unified,
          .context_tokens = rows.slot_cells,
          .batch_tokens = rows.batch_tokens,
          .step_tokens = rows.step_tokens,
          .window_tokens = rows.window_tokens,
          .checkpoints = rows.checkpoints,
          .checkpoint_step = rows.checkpoint_step_tokens,
          .saved_bytes = rows.saved_bytes,
          .saves_idle = rows.saves_idle,
          .least_similarity = static_cast<float>(rows.least_similarity_percent) / 100,
          .bytes = rows.bytes};
}

}  // namespace hybridkv
