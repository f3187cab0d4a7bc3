#include "simulator/slots/checkpoints.h"

#include <algorithm>
#include <optional>

namespace hybridkv {

namespace {

/// The token from which on a window must be whole; the last one of a prompt is computed in any case.
std::int64_t seen_from(const ResumeAsked& asked, std::int64_t window_tokens) {
  const std::int64_t last = asked.common_tokens == asked.prompt_tokens ? 1 : 0;
  return std::max<std::int64_t>(0, asked.common_tokens - window_tokens - last);
}

/// Erases those of which that holds, first to last, and returns how many they were.
template <class Holds>
std::int64_t erase_where(CheckpointList& list, SlotEventKind kind, const SlotLog& log, Holds&& holds) {
  const auto before = std::ssize(list);
  for (auto one = list.begin(); one != list.end();) {
    if (!holds(*one)) {
      ++one;
      continue;
    }
    tell(log, {.kind = kind, .tokens = one->tokens});
    one = list.erase(one);
  }
  return before - std::ssize(list);
}

}  // namespace

bool needs_checkpoint(const SavedSequence& held, const ResumeAsked& asked, std::int64_t window_tokens) {
  return asked.common_tokens > 0 && held.tokens() - 1 >= seen_from(asked, window_tokens);
}

SlotCheckpoint* usable_checkpoint(CheckpointList& list, const ResumeAsked& asked, std::int64_t window_tokens) {
  const auto found = std::find_if(list.rbegin(), list.rend(), [&](const SlotCheckpoint& one) {
    const std::int64_t last = one.tokens - 1;
    return last <= asked.common_tokens && (last < seen_from(asked, window_tokens) || last == 0);
  });
  return found == list.rend() ? nullptr : &*found;
}

std::int64_t erase_behind(CheckpointList& list, std::int64_t token, const SlotLog& log) {
  return erase_where(list, SlotEventKind::invalid, log,
                     [&](const SlotCheckpoint& one) { return one.tokens - 1 > token; });
}

std::int64_t add_checkpoint(CheckpointList& list, const SlotCheckpoint& made, const SlotSettings& settings,
                            const SlotLog& log, const std::function<void(const SlotCheckpoint&)>& near) {
  std::optional<std::int64_t> kept;
  std::int64_t erased = erase_where(list, SlotEventKind::near, log, [&](const SlotCheckpoint& one) {
    if (std::ssize(list) + 1 < settings.checkpoints) return false;
    const bool is_near = kept && one.request != made.request && one.tokens <= *kept + settings.checkpoint_step;
    if (!is_near) kept = one.tokens;
    if (is_near && near) near(one);
    return is_near;
  });
  erased += erase_where(list, SlotEventKind::oldest, log,
                        [&](const SlotCheckpoint&) { return std::ssize(list) >= settings.checkpoints; });
  erased += erase_where(list, SlotEventKind::supersede, log,
                        [&](const SlotCheckpoint& one) { return one.tokens == made.tokens; });
  list.push_back(made);
  tell(log, {.kind = SlotEventKind::create, .tokens = made.tokens, .number = std::ssize(list),
             .bytes = settings.bytes.checkpoint(made.tokens)});
  return erased;
}

}  // namespace hybridkv
