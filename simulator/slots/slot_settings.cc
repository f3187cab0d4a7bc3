#include "simulator/slots/slot_settings.h"

#include <fmt/format.h>

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

}  // namespace hybridkv
