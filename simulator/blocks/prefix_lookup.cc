#include "simulator/blocks/prefix_lookup.h"

#include <algorithm>

#include "base/checked.h"

namespace hybridkv {

PrefixLookup::PrefixLookup(const CacheGeometry& geometry, const PrefixPositions& positions,
                           const AttentionManager& attention, const StateManager& states)
    : positions_(positions),
      attention_(attention),
      states_(states),
      has_one_group_(geometry.attention_groups + geometry.state_groups == 1) {
  for (const bool windowed : {false, true})
    for (std::size_t group = 0; group < attention.groups().size(); ++group) {
      const AttentionManager::Group& own = attention.groups()[group];
      const KeyMask mask = geometry.attention_masks.empty() ? KeyMask{} : geometry.attention_masks[group];
      if ((mask.kind != MaskKind::full) != windowed) continue;
      const std::int64_t window = windowed ? ceil_div(mask.window_tokens - 1, own.block) : 0;
      const bool drops = geometry.drafter_drops_block && geometry.rules.drafts(group);
      const auto same = std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& kind) {
        return kind.block == own.block && kind.windowed == windowed && kind.window == window && kind.drops == drops;
      });
      if (same != kinds_.end())
        same->groups.push_back(group);
      else
        kinds_.push_back({{group}, own.block, own.units, window, windowed, drops});
    }
}

bool PrefixLookup::append(const Kind& kind, PrefixKey key, bool tail, RequestBlocks& request) const {
  for (std::size_t i = 0; i < kind.groups.size(); ++i) {
    const std::size_t group = kind.groups[i];
    BlockArena& pool = *attention_.groups()[group].pool;
    const PrefixKey own = attention_.group_keys()(key, group);
    const BlockId block = tail ? pool.find_tail(own) : pool.find(own);
    if (block == null_block_id) {
      while (i > 0) request.attention[kind.groups[--i]].pop_back();
      return false;
    }
    request.attention[group].push_back(block);
  }
  return true;
}

std::int64_t PrefixLookup::margin(const Kind& kind) const {
  if (!kind.drops || has_one_group_) return 0;
  return std::min(positions_.hit_step(), kind.block);
}

std::int64_t PrefixLookup::match_full(const Kind& kind, std::span<const PrefixKey> keys, std::int64_t limit,
                                      RequestBlocks& request) const {
  const std::int64_t unit = positions_.unit();
  const std::int64_t most = std::min<std::int64_t>((limit + margin(kind)) / unit, std::ssize(keys));
  std::int64_t found = 0;  // match units
  while (found + kind.units <= most &&
         append(kind, keys[static_cast<std::size_t>(found + kind.units - 1)], false, request))
    found += kind.units;
  if (positions_.fine())
    for (std::int64_t end = std::min(most, found + kind.units - 1); end > found; --end)
      if (append(kind, keys[static_cast<std::size_t>(end - 1)], true, request)) {
        found = end;
        break;
      }
  std::int64_t tokens = found * unit;
  if (kind.drops && tokens > 0) tokens -= std::min(positions_.hit_step(), kind.block);
  tokens -= tokens % positions_.hit_step();
  for (const std::size_t group : kind.groups)
    request.attention[group].resize(static_cast<std::size_t>(ceil_div(tokens, kind.block)));
  return tokens;
}

std::int64_t PrefixLookup::match_window(const Kind& kind, std::span<const PrefixKey> keys, std::int64_t limit,
                                        RequestBlocks& request) const {
  const std::int64_t blocks =
      std::min<std::int64_t>((limit + margin(kind)) / kind.block, std::ssize(keys) / kind.units);
  const std::int64_t needed = kind.window + (kind.drops ? 1 : 0);
  const std::int64_t step = positions_.hit_step();
  std::vector<std::vector<BlockId>> found(kind.groups.size());  // (group, blocks), from the last one on
  const auto find_all = [&](std::int64_t i) {
    for (std::size_t member = 0; member < kind.groups.size(); ++member) {
      const std::size_t group = kind.groups[member];
      const BlockId block = attention_.groups()[group].pool->find(
          attention_.group_keys()(keys[static_cast<std::size_t>((i + 1) * kind.units - 1)], group));
      if (block == null_block_id) return false;
      found[member].push_back(block);
    }
    return true;
  };
  std::int64_t run = 0, first = 0;  // found blocks in a row, and the first of them
  for (std::int64_t i = blocks - 1; i >= 0; --i) {
    // The first block of a run is the last of a hit, or the one behind it that is dropped.
    const bool starts = run == 0;
    if (starts) {
      for (auto& row : found) row.clear();
      if ((kind.drops ? i : i + 1) * kind.block % step != 0) continue;
    }
    const std::size_t before = found.front().size();
    if (!find_all(i)) {
      for (auto& row : found) row.resize(before);
      run = 0;
      continue;
    }
    first = i;
    if (++run >= needed) break;
  }
  if (run < needed && first > 0) run = 0;
  std::int64_t end = run == 0 ? 0 : first + run;  // blocks
  if (kind.drops && end > 0) --end;
  while (end * kind.block % step != 0) --end;
  for (std::size_t member = 0; member < kind.groups.size(); ++member) {
    auto& table = request.attention[kind.groups[member]];
    table.assign(static_cast<std::size_t>(end), null_block_id);
    for (std::int64_t i = first; run > 0 && i < end; ++i)
      table[static_cast<std::size_t>(i)] = found[member][static_cast<std::size_t>(first + run - 1 - i)];
  }
  return end * kind.block;
}

std::int64_t PrefixLookup::match_states(std::span<const PrefixKey> keys, std::int64_t limit,
                                        RequestBlocks& request) const {
  const std::int64_t unit = positions_.unit(), step = positions_.hit_step() / unit;
  const std::int64_t most = std::min<std::int64_t>(limit / unit, std::ssize(keys));
  for (std::int64_t units = most / step * step; units > 0; units -= step) {
    const PrefixKey key = keys[static_cast<std::size_t>(units - 1)];
    const std::int64_t index = ceil_div(units * unit, positions_.block()) - 1;
    std::size_t group = 0;
    for (; group < states_.num_groups(); ++group) {
      const BlockId block = states_.pool(group).find(states_.group_keys()(key, group));
      if (block == null_block_id) break;
      request.states[group].live.assign(1, {index, block});
    }
    if (group == states_.num_groups()) return units * unit;
    for (StateTable& table : request.states) table.live.clear();
  }
  return 0;
}

PrefixHit PrefixLookup::look_up(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t limit) const {
  const std::size_t full = static_cast<std::size_t>(
      std::count_if(kinds_.begin(), kinds_.end(), [](const Kind& kind) { return !kind.windowed; }));
  const std::size_t others = kinds_.size() - full + (states_.num_groups() > 0 ? 1 : 0);
  std::int64_t hit = limit, longest = 0;
  for (std::size_t i = 0; i < full; ++i) {
    hit = match_full(kinds_[i], keys, hit, request);
    longest = std::max(longest, hit);
  }
  // With one other kind there is nobody left to disagree with it.
  for (std::int64_t before = -1; others > 0 && before != hit;) {
    before = hit;
    for (std::size_t i = full; i < kinds_.size(); ++i) {
      for (const std::size_t group : kinds_[i].groups) request.attention[group].clear();
      hit = std::min(hit, match_window(kinds_[i], keys, hit, request));
      longest = std::max(longest, hit);
    }
    if (states_.num_groups() > 0) {
      for (StateTable& table : request.states) table.live.clear();
      hit = match_states(keys, hit, request);
      longest = std::max(longest, hit);
    }
    if (full > 0 && others == 1) break;
  }
  attention_.trim(request, hit);
  return {hit, longest - hit};
}

}  // namespace hybridkv
