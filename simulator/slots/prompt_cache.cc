#include "simulator/slots/prompt_cache.h"

#include <algorithm>
#include <utility>

namespace hybridkv {

namespace {

constexpr float least_kept_of_entry = 0.25f;  // of an entry, else it is too good for the prompt

float share_of_tokens(std::int64_t common, std::int64_t tokens) {
  return static_cast<float>(common) / static_cast<float>(tokens);
}

}  // namespace

std::int64_t PromptCache::bytes_of(const SavedSequence& entry) const {
  std::int64_t bytes = settings_.bytes.prompt(entry.tokens());
  for (const SlotCheckpoint& checkpoint : entry.checkpoints) bytes += settings_.bytes.checkpoint(checkpoint.tokens);
  return bytes;
}

std::int64_t PromptCache::tokens() const {
  std::int64_t tokens = 0;
  for (const SavedSequence& entry : entries_) tokens += entry.tokens();
  return tokens;
}

std::list<SavedSequence>::iterator PromptCache::remove(std::list<SavedSequence>::iterator entry) {
  bytes_ -= bytes_of(*entry);
  return entries_.erase(entry);
}

bool PromptCache::save(const SavedSequence& held) {
  const std::int64_t length = held.tokens();
  if (length == 0) return false;
  tell(log_, {.kind = SlotEventKind::save, .tokens = length, .bytes = settings_.bytes.prompt(length)});
  const auto shared = [&](const SavedSequence& entry) { return common_tokens(entry.content, held.content); };
  if (std::any_of(entries_.begin(), entries_.end(), [&](const auto& entry) { return shared(entry) == length; })) {
    tell(log_, {.kind = SlotEventKind::known});
    return false;
  }
  const std::int64_t bytes = bytes_of(held), limit = settings_.saved_bytes;
  if (limit > 0 && bytes > limit) {
    tell(log_, {.kind = SlotEventKind::too_big, .bytes = bytes});
    return false;
  }
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (shared(*entry) != entry->tokens()) {
      ++entry;
      continue;
    }
    tell(log_, {.kind = SlotEventKind::obsolete, .tokens = entry->tokens()});
    entry = remove(entry);
  }
  for (; limit > 0 && !entries_.empty() && bytes_ + bytes > limit; remove(entries_.begin()))
    tell(log_, {.kind = SlotEventKind::room});
  entries_.push_back(held);
  bytes_ += bytes;
  return true;
}

std::list<SavedSequence>::iterator PromptCache::best_for(const ServerSlot& slot, std::span<const TokenRun> prompt) {
  const std::int64_t length = prompt.back().end_token, own = common_tokens(slot.content, prompt);
  float keep = slot.content.empty() ? -1 : share_of_tokens(own, slot.tokens());
  float similarity = share_of_tokens(own, length);
  auto best = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    const std::int64_t common = common_tokens(entry->content, prompt);
    const float kept = share_of_tokens(common, entry->tokens()), of_prompt = share_of_tokens(common, length);
    if (kept < least_kept_of_entry || kept <= keep || of_prompt <= similarity) continue;
    keep = kept, similarity = of_prompt, best = entry;
  }
  if (best != entries_.end())
    tell(log_, {.kind = SlotEventKind::found, .similarity = similarity, .keep = keep});
  return best;
}

std::int64_t PromptCache::load(ServerSlot& slot, std::int64_t number, std::span<const TokenRun> prompt,
                               std::int64_t free_cells) {
  const auto best = best_for(slot, prompt);
  if (best == entries_.end()) return 0;
  if (best->tokens() > free_cells) {
    tell(log_, {.kind = SlotEventKind::load_failed});
    tell(log_, {.kind = SlotEventKind::clear, .slot = number, .tokens = slot.tokens()});
    slot.clear();
    return 0;
  }
  static_cast<SavedSequence&>(slot) = *best;
  remove(best);
  return slot.tokens();
}

std::int64_t PromptCache::limit_tokens() const {
  if (settings_.saved_bytes <= 0) return settings_.cells;
  const float mean =
      std::max(1.0f, static_cast<float>(bytes_) / static_cast<float>(std::max<std::int64_t>(1, tokens())));
  return std::max(settings_.cells, static_cast<std::int64_t>(static_cast<float>(settings_.saved_bytes) / mean));
}

void PromptCache::trim() {
  const std::int64_t most = limit_tokens();
  for (std::int64_t left = tokens(); left > most; remove(entries_.begin())) {
    tell(log_, {.kind = SlotEventKind::limit_tokens});
    left -= entries_.front().tokens();
  }
  if (log_) tell_entries();
}

void PromptCache::tell_entries() const {
  tell(log_, {.kind = SlotEventKind::state, .tokens = settings_.cells, .number = std::ssize(entries_), .bytes = bytes_,
              .limit_bytes = std::max<std::int64_t>(0, settings_.saved_bytes), .limit_tokens = limit_tokens()});
  for (const SavedSequence& entry : entries_)
    tell(log_, {.kind = SlotEventKind::entry, .tokens = entry.tokens(), .number = std::ssize(entry.checkpoints),
                .bytes = bytes_of(entry)});
}

}  // namespace hybridkv
