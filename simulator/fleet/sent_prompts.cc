#include "simulator/fleet/sent_prompts.h"

namespace hybridkv {

std::int64_t SentPrompts::match(std::span<const PrefixKey> keys) const {
  std::int64_t blocks = 0;
  for (const PrefixKey key : keys) {
    if (!places_.contains(key)) break;
    ++blocks;
  }
  return blocks;
}

void SentPrompts::add(std::span<const PrefixKey> keys) {
  for (const PrefixKey key : keys) {
    if (const auto known = places_.find(key); known != places_.end()) {
      order_.splice(order_.end(), order_, known->second);
      continue;
    }
    order_.push_back(key);
    places_.emplace(key, std::prev(order_.end()));
    if (size() <= most_) continue;
    places_.erase(order_.front());
    order_.pop_front();
  }
}

}  // namespace hybridkv
