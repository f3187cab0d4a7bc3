#include "simulator/slots/prompt_steps.h"

#include <algorithm>

#include "planner/tensor_pools.h"

namespace hybridkv {

// The last message of the user is always worth one, those before it where the list has none near.
bool PromptSteps::begins_message(std::int64_t start, const CheckpointList& made) const {
  return start == message_starts_.back() || made.empty() ||
         start > made.back().tokens + settings_.checkpoint_step;
}

std::int64_t PromptSteps::end_of(std::int64_t start, const CheckpointList& made) const {
  std::int64_t end = std::min(tokens_, start + settings_.batch_tokens);
  if (settings_.checkpoints == 0) return end;
  const auto stop_at = [&](std::int64_t token) {
    if (token > start) end = std::min(end, token);
  };
  stop_at(tokens_ - std::min(settings_.batch_tokens, settings_.step_tokens + checkpoint_tail_tokens));
  stop_at(tokens_ - std::min(settings_.batch_tokens, checkpoint_tail_tokens));
  for (const std::int64_t message : message_starts_)
    if (begins_message(message, made)) stop_at(message);
  return end;
}

bool PromptSteps::is_kept(std::int64_t start, std::int64_t end, const CheckpointList& made) const {
  if (settings_.checkpoints == 0 || start == 0) return false;
  if (end == tokens_ || end > tokens_ - settings_.step_tokens) return true;
  return std::binary_search(message_starts_.begin(), message_starts_.end(), start) && begins_message(start, made);
}

}  // namespace hybridkv
