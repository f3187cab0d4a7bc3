#include "simulator/blocks/attention_manager.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace hybridkv {

namespace {

/// Does the request's last block of that many tokens have to be copied before it is written?
bool shares_tail(const RequestBlocks& request, std::int64_t block) {
  return request.shared_tail_tokens != 0 && request.shared_tail_tokens % block != 0;
}

}  // namespace

AttentionManager::AttentionManager(const CacheGeometry& geometry, std::span<BlockArena> pools)
    : geometry_(geometry),
      group_keys_(geometry.attention_groups, 1),
      unit_(geometry.match_unit()),
      row_units_(geometry.attention_grain() / unit_),
      partial_tails_(geometry.has_partial_tails()),
      drop_units_(geometry.drafter_drops_block ? geometry.attention_step() / unit_ : 0) {
  for (std::int64_t group = 0; group < geometry.attention_groups; ++group) {
    const std::int64_t block = geometry.attention_block(group), arena = geometry.attention_arena(group);
    groups_.push_back({block, block / unit_, arena, &pools[static_cast<std::size_t>(arena)]});
    const auto same = std::find_if(alike_.begin(), alike_.end(), [&](const Alike& alike) {
      return alike.block == block && alike.arena == arena;
    });
    if (same == alike_.end())
      alike_.push_back({block, arena, 1, static_cast<std::size_t>(group)});
    else
      ++same->groups;
  }
  equal_blocks_ = std::all_of(groups_.begin(), groups_.end(),
                              [&](const Group& group) { return group.units == row_units_; });
}

bool AttentionManager::append_row(PrefixKey key, RequestBlocks& request) {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const BlockId block = groups_[group].pool->find(group_keys_(key, group));
    if (block == null_block_id) {
      while (group > 0) request.attention[--group].pop_back();
      return false;
    }
    request.attention[group].push_back(block);
  }
  return true;
}

bool AttentionManager::append_found(std::span<const PrefixKey> keys, std::int64_t from, std::int64_t to,
                                    RequestBlocks& request) {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const Group& own = groups_[group];
    for (std::int64_t end = from; end < to;) {
      end = std::min(end + own.units, to);
      const BlockId block = own.pool->find(group_keys_(keys[static_cast<std::size_t>(end - 1)], group));
      if (block == null_block_id) {
        trim(request, from * unit_);
        return false;
      }
      request.attention[group].push_back(block);
    }
  }
  return true;
}

std::int64_t AttentionManager::match(std::span<const PrefixKey> keys, std::int64_t limit, RequestBlocks& request) {
  for (auto& table : request.attention) table.clear();
  const std::int64_t most = limit / unit_;
  std::int64_t found = 0;  // match units
  const auto found_next = [&] {
    return equal_blocks_ ? append_row(keys[static_cast<std::size_t>(found + row_units_ - 1)], request)
                         : append_found(keys, found, found + row_units_, request);
  };
  while (found + row_units_ <= most && found_next()) found += row_units_;
  if (partial_tails_)
    for (std::int64_t tail = std::min(most - found, row_units_ - 1); tail > 0; --tail)
      if (append_found(keys, found, found + tail, request)) {
        found += tail;
        break;
      }
  if (drop_units_ > 0 && found > 0) {
    found -= drop_units_;
    trim(request, found * unit_);
  }
  return found * unit_;
}

void AttentionManager::trim(RequestBlocks& request, std::int64_t hit_tokens) const {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    auto& table = request.attention[group];
    const auto blocks = static_cast<std::size_t>(ceil_div(hit_tokens, groups_[group].block));
    if (blocks < table.size()) table.resize(blocks);
  }
}

template <class Visit>
void AttentionManager::take_out_passed(RequestBlocks& request, std::int64_t computed, Visit&& visit) const {
  if (geometry_.attention_masks.empty()) return;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    std::vector<BlockId>& table = request.attention[group];
    const std::int64_t passed = geometry_.attention_masks[group].first_visible(computed) / groups_[group].block;
    BlockId last = null_block_id;  // the last of the blocks given back together so far
    std::int64_t i = std::min<std::int64_t>(passed, std::ssize(table));
    for (; i > 0 && table[i - 1] != null_block_id; --i)
      visit(*groups_[group].pool, std::exchange(table[i - 1], null_block_id), last);
  }
}

void AttentionManager::give_back_passed(RequestBlocks& request, std::int64_t computed) {
  take_out_passed(request, computed, [](BlockArena& pool, BlockId block, BlockId& last) { pool.release(block, last); });
}

void AttentionManager::skip_passed(RequestBlocks& request, std::int64_t computed) const {
  take_out_passed(request, computed, [](BlockArena&, BlockId, BlockId&) {});
}

void AttentionManager::add_first(const RequestBlocks& request, std::int64_t hit, std::int64_t tokens,
                                 std::span<std::int64_t> demand) const {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const BlockArena& pool = *groups_[group].pool;
    std::int64_t found_free = 0;
    for (const BlockId block : request.attention[group]) found_free += block != null_block_id && pool.is_free(block);
    demand[groups_[group].arena] += found_free;
  }
  for (const Alike& alike : alike_)
    demand[alike.arena] += alike.groups * (ceil_div(tokens, alike.block) - hit / alike.block);
}

bool AttentionManager::add_next(const RequestBlocks& request, std::int64_t tokens,
                                std::span<std::int64_t> demand) const {
  bool any = false;
  for (const Alike& alike : alike_) {
    const std::int64_t kept = std::ssize(request.attention[alike.first]) - (shares_tail(request, alike.block) ? 1 : 0);
    // A request keeps the rows that it took for a drafter's tokens, also those that no token came to fill.
    const std::int64_t blocks = std::max<std::int64_t>(0, ceil_div(tokens, alike.block) - kept);
    demand[alike.arena] += alike.groups * blocks;
    any = any || blocks > 0;
  }
  return any;
}

void AttentionManager::hold(const RequestBlocks& request) {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    BlockArena& pool = *groups_[group].pool;
    for (const BlockId block : request.attention[group])
      if (block != null_block_id) pool.hold(block);
  }
}

std::int64_t AttentionManager::grow(RequestBlocks& request, std::int64_t tokens, std::vector<BlockCopy>& copied) {
  std::int64_t copies = 0;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const Group& own = groups_[group];
    auto& table = request.attention[group];
    if (shares_tail(request, own.block)) {
      copied.push_back({table.back(), own.pool->take(BlockKind::attention), own.arena, table.back(),
                        static_cast<std::int64_t>(group)});
      table.back() = copied.back().to;
      ++copies;
    }
    const auto blocks = static_cast<std::size_t>(ceil_div(tokens, own.block));
    while (table.size() < blocks) table.push_back(own.pool->take(BlockKind::attention));
  }
  request.shared_tail_tokens = 0;
  return copies;
}

void AttentionManager::publish(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t tokens,
                               std::int64_t partial_end, std::int64_t step) {
  const std::int64_t known = std::min(tokens, static_cast<std::int64_t>(keys.size()) * unit_);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const Group& own = groups_[group];
    const std::vector<BlockId>& table = request.attention[group];
    const std::int64_t full = known / own.block;
    for (std::int64_t i = request.published_attention / own.block; i < full; ++i)
      if (table[static_cast<std::size_t>(i)] != null_block_id)
        own.pool->publish(table[static_cast<std::size_t>(i)],
                          group_keys_(keys[static_cast<std::size_t>((i + 1) * own.units - 1)], group), step, false);
  }
  request.published_attention = std::max(request.published_attention, known);
  if (partial_end > known || partial_end <= request.partial_tokens) return;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const Group& own = groups_[group];
    if (partial_end % own.block == 0 || partial_end / own.block < known / own.block) continue;
    own.pool->publish(request.attention[group][static_cast<std::size_t>(partial_end / own.block)],
                      group_keys_(keys[static_cast<std::size_t>(partial_end / unit_ - 1)], group), step, false);
    request.shared_tail_tokens = partial_end;
  }
  request.partial_tokens = partial_end;
}

void AttentionManager::release(const RequestBlocks& request) {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    BlockArena& pool = *groups_[group].pool;
    const auto& table = request.attention[group];
    BlockId last = null_block_id;
    for (auto block = table.rbegin(); block != table.rend(); ++block)
      if (*block != null_block_id) pool.release(*block, last);
  }
}

}  // namespace hybridkv
