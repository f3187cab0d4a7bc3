#include "simulator/fleet/heard_keys.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace hybridkv {

std::int64_t event_block(const CacheGeometry& geometry) {
  return geometry.attention_groups > 0 ? geometry.attention_block(0) : geometry.state_block();
}

HeardKeys::HeardKeys(const CacheManager& cache, EventReading reading, double delay_seconds, std::function<double()> now,
                     const BlocksBefore& before)
    : cache_(cache),
      reading_(reading),
      delay_(delay_seconds),
      now_(std::move(now)),
      unit_(cache.geometry().match_unit()),
      step_(std::max<std::int64_t>(1, cache.geometry().resume_step() / unit_)),
      before_(before) {
  const CacheGeometry& geometry = cache.geometry();
  for (std::size_t group = 0; group < cache.attention().groups().size(); ++group) {
    const AttentionManager::Group& own = cache.attention().groups()[group];
    if (!geometry.is_windowed(static_cast<std::int64_t>(group))) {
      full_.push_back({group, own.units, 0});
      continue;
    }
    const std::int64_t window = geometry.attention_masks[group].window_tokens;
    windows_.push_back({group, own.units, ceil_div(window - 1, own.block)});
  }
}

std::int64_t HeardKeys::match(std::span<const PrefixKey> keys, std::int64_t prompt_tokens, double seconds) {
  const std::int64_t most = std::min((prompt_tokens - 1) / unit_, std::ssize(keys));
  hear(seconds - delay_);
  if (reading_ == EventReading::sparse) {
    const std::int64_t block = event_block(cache_.geometry()) / unit_;
    std::int64_t units = 0;
    while (units + block <= most && keys_.contains(keys[static_cast<std::size_t>(units + block - 1)])) units += block;
    return units * unit_;
  }
  std::int64_t units = match_attention(keys, most);
  if (reading_ == EventReading::states)
    for (units -= units % step_; units > 0 && !can_resume(keys, units);) units -= step_;
  return units * unit_;
}

void HeardKeys::hear(double seconds) {
  for (; !events_.empty() && events_.front().seconds <= seconds; events_.pop_front())
    if (reading_ == EventReading::sparse) apply_sparse(events_.front());
    else apply(events_.front());
}

void HeardKeys::apply(const Event& event) {
  if (event.is_stored) keys_.insert(event.key);
  else keys_.erase(event.key);
}

void HeardKeys::apply_sparse(const Event& event) {
  const GroupKeys& attention = cache_.attention().group_keys();
  for (std::size_t group = 0; group < attention.size(); ++group)
    if (const PrefixKey prefix = attention.prefix_of(event.key, group); before_.contains(prefix)) {
      if (event.is_stored) keys_.insert(prefix);
      else keys_.erase(prefix);
      return;
    }
  const GroupKeys& states = cache_.states().group_keys();
  for (std::size_t group = 0; group < states.size(); ++group) {
    const PrefixKey prefix = states.prefix_of(event.key, group);
    if (!before_.contains(prefix)) continue;
    std::vector<PrefixKey>& stretch = stretches_[prefix];
    if (stretch.empty())
      for (PrefixKey key = prefix; key != 0 && (key == prefix || !stretches_.contains(key)); key = before_.at(key))
        stretch.push_back(key);
    for (const PrefixKey key : stretch)
      if (event.is_stored) keys_.insert(key);
      else keys_.erase(key);
    return;
  }
}

bool HeardKeys::has(const Attention& attention, std::span<const PrefixKey> keys, std::int64_t unit) const {
  return keys_.contains(cache_.attention().group_keys()(keys[static_cast<std::size_t>(unit - 1)], attention.group));
}

std::int64_t HeardKeys::match_attention(std::span<const PrefixKey> keys, std::int64_t units) const {
  // What nobody tells of does not end a match: the states have the last word.
  for (const Attention& group : full_) {
    std::int64_t found = 0;
    while (found + group.units <= units && has(group, keys, found + group.units)) found += group.units;
    units = found;
  }
  return full_.empty() && reading_ == EventReading::attention ? 0 : units;
}

bool HeardKeys::can_resume(std::span<const PrefixKey> keys, std::int64_t units) const {
  for (const Attention& window : windows_) {
    if (units % window.units != 0) return false;
    const std::int64_t first = std::max<std::int64_t>(0, units / window.units - window.blocks);
    for (std::int64_t block = units / window.units; block > first; --block)
      if (!has(window, keys, block * window.units)) return false;
  }
  const StateManager& states = cache_.states();
  if (!cache_.geometry().has_state_blocks()) return true;
  for (std::size_t group = 0; group < states.num_groups(); ++group)
    if (!keys_.contains(states.group_keys()(keys[static_cast<std::size_t>(units - 1)], group))) return false;
  return true;
}

}  // namespace hybridkv
