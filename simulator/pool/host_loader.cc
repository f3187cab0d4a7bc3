#include "simulator/pool/host_loader.h"

#include <algorithm>
#include <unordered_set>

#include "base/checked.h"

namespace hybridkv {

HostLoader::HostLoader(const CacheGeometry& geometry, std::span<BlockArena> pools, const AttentionManager& attention,
                       const StateManager& states)
    : geometry_(geometry), pools_(pools), attention_(attention), states_(states), tier_(*geometry.host) {
  for (std::size_t arena = 0; arena < pools_.size(); ++arena) pools_[arena].tell(tier_, arena);
}

PrefixKey HostLoader::attention_key(std::span<const PrefixKey> keys, std::size_t group, std::int64_t block) const {
  const std::int64_t units = attention_.groups()[group].units;
  return attention_.group_keys()(keys[static_cast<std::size_t>((block + 1) * units - 1)], group);
}

bool HostLoader::is_there(std::size_t arena, PrefixKey key, bool with_host) const {
  return pools_[arena].holds_key(key) || (with_host && tier_.has(key));
}

std::int64_t HostLoader::joint(std::span<const PrefixKey> keys, std::int64_t limit, bool with_host) const {
  const std::int64_t unit = geometry_.match_unit();
  std::int64_t tokens = std::min<std::int64_t>(limit, std::ssize(keys) * unit);
  for (std::size_t group = 0; group < attention_.groups().size(); ++group) {
    const AttentionManager::Group& own = attention_.groups()[group];
    std::int64_t blocks = 0;
    while (blocks < tokens / own.block &&
           is_there(static_cast<std::size_t>(own.arena), attention_key(keys, group, blocks), with_host))
      ++blocks;
    tokens = std::min(tokens, blocks * own.block);
  }
  const std::int64_t step = geometry_.resume_step();
  for (tokens = tokens / step * step; tokens > 0; tokens -= step) {
    std::size_t group = 0;
    const PrefixKey key = keys[static_cast<std::size_t>(tokens / unit - 1)];
    while (group < states_.num_groups() &&
           is_there(states_.arena(group), states_.group_keys()(key, group), with_host))
      ++group;
    if (group == states_.num_groups()) return tokens;
  }
  return 0;
}

std::vector<HostLoader::Place> HostLoader::parts_of(std::span<const PrefixKey> keys, std::int64_t tokens) const {
  std::vector<Place> parts;
  for (std::size_t group = 0; group < attention_.groups().size(); ++group) {
    const AttentionManager::Group& own = attention_.groups()[group];
    for (std::int64_t block = tokens / own.block; block > 0; --block)
      parts.push_back({static_cast<std::size_t>(own.arena), attention_key(keys, group, block - 1), false});
  }
  const PrefixKey key = keys[static_cast<std::size_t>(tokens / geometry_.match_unit() - 1)];
  for (std::size_t group = 0; group < states_.num_groups(); ++group)
    parts.push_back({states_.arena(group), states_.group_keys()(key, group), true});
  return parts;
}

void HostLoader::remember(std::span<const PrefixKey> keys) {
  for (std::size_t i = keys.size(); i > 0; --i)
    if (!before_.try_emplace(keys[i - 1], i > 1 ? keys[i - 2] : 0).second) return;  // and so all before it
}

void HostLoader::load(std::span<const PrefixKey> keys, std::int64_t limit, std::int64_t step) {
  remember(keys);
  const std::int64_t tokens = joint(keys, limit, true);
  const std::int64_t without = tokens > 0 ? joint(keys, limit, false) : 0;
  if (tokens <= without) return;
  const std::vector<Place> parts = parts_of(keys, tokens);
  std::vector<BlockId> blocks;
  std::vector<std::int64_t> missing(pools_.size());
  for (const Place& part : parts) {
    BlockArena& pool = pools_[part.arena];
    blocks.push_back(pool.holds_key(part.key) ? pool.find(part.key) : null_block_id);
    if (blocks.back() != null_block_id)
      pool.hold(blocks.back());
    else
      ++missing[part.arena];
  }
  bool fits = true;
  for (std::size_t arena = 0; arena < pools_.size(); ++arena) fits = fits && pools_[arena].has_room(missing[arena]);
  if (fits) {
    // All of it leaves the host before the first block is taken, whose key may go there.
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (blocks[i] == null_block_id) tier_.load(parts[i].key);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (blocks[i] != null_block_id) continue;
      BlockArena& pool = pools_[parts[i].arena];
      blocks[i] = pool.take(parts[i].is_state ? BlockKind::state : BlockKind::attention);
      pool.publish(blocks[i], parts[i].key, step - 1, false);  // older than what this step makes
    }
    tier_.note_load(tokens - without);
  } else {
    tier_.note_no_room();
  }
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (blocks[i] != null_block_id) pools_[parts[i].arena].release(blocks[i]);
}

HostStats HostLoader::final_stats() {
  std::unordered_set<PrefixKey> states, live;
  tier_.for_each([&](PrefixKey key, bool is_state, std::int64_t) {
    if (is_state) states.insert(key);
  });
  for (const auto& [prefix, before] : before_) {
    if (states_.num_groups() == 0) break;
    std::size_t group = 0;
    for (; group < states_.num_groups(); ++group) {
      const PrefixKey key = states_.group_keys()(prefix, group);
      if (!states.contains(key) && !pools_[states_.arena(group)].holds_key(key)) break;
    }
    if (group < states_.num_groups()) continue;
    for (PrefixKey at = prefix; at != 0 && live.insert(at).second;) at = before_.at(at);
  }
  std::unordered_map<PrefixKey, bool> lives;  // by the keys of blocks
  for (const auto& [prefix, before] : before_)
    for (std::size_t group = 0; group < attention_.groups().size(); ++group)
      lives.emplace(attention_.group_keys()(prefix, group), live.contains(prefix));
  std::int64_t dead = 0;
  tier_.for_each([&](PrefixKey key, bool is_state, std::int64_t bytes) {
    if (const auto known = lives.find(key); !is_state && states_.num_groups() > 0 &&
                                            (known == lives.end() || !known->second))
      dead += bytes;
  });
  tier_.set_dead_bytes(dead);
  return tier_.stats();
}

}  // namespace hybridkv
