#include "simulator/slots/slot_choice.h"

namespace hybridkv {

namespace {

constexpr float least_kept_of_slot = 0.5f;  // of a slot: where less of it stays, it is saved

/// Of the prompt; 0 where a slot holds nothing, or not enough to be taken for it.
float similarity_of(const ServerSlot& slot, std::span<const TokenRun> prompt, const SlotSettings& settings) {
  if (slot.content.empty()) return 0;
  const float similarity = static_cast<float>(common_tokens(slot.content, prompt)) /
                           static_cast<float>(prompt.back().end_token);
  return similarity > settings.least_similarity ? similarity : 0;
}

float kept_of(const ServerSlot& slot, std::span<const TokenRun> prompt, float similarity) {
  return similarity * static_cast<float>(prompt.back().end_token) / static_cast<float>(slot.tokens());
}

std::size_t used_longest_ago(const std::vector<ServerSlot>& slots) {
  std::size_t oldest = 0;
  for (std::size_t i = 1; i < slots.size(); ++i)
    if (slots[i].last_used <= slots[oldest].last_used) oldest = i;
  return oldest;
}

}  // namespace

SlotChoice choose_slot(const std::vector<ServerSlot>& slots, std::span<const TokenRun> prompt,
                       const SlotSettings& settings, std::optional<std::int64_t> asked, const SlotLog& log) {
  if (asked) {
    const ServerSlot& slot = slots[static_cast<std::size_t>(*asked)];
    tell(log, {.kind = SlotEventKind::by_id, .slot = *asked});
    return {static_cast<std::size_t>(*asked),
            !slot.content.empty() && kept_of(slot, prompt, similarity_of(slot, prompt, settings)) < least_kept_of_slot};
  }
  std::size_t best = slots.size();
  float most = 0;
  for (std::size_t i = 0; i < slots.size() && settings.least_similarity != 0; ++i)
    if (const float similarity = similarity_of(slots[i], prompt, settings); similarity > most)
      best = i, most = similarity;
  if (best < slots.size()) {
    const float keep = kept_of(slots[best], prompt, most);
    tell(log, {.kind = SlotEventKind::lcp, .slot = static_cast<std::int64_t>(best), .similarity = most, .keep = keep});
    return {best, keep < least_kept_of_slot};
  }
  best = used_longest_ago(slots);
  tell(log, {.kind = SlotEventKind::lru, .slot = static_cast<std::int64_t>(best)});
  return {best, true};
}

}  // namespace hybridkv
