#include "simulator/attention_manager.h"

#include <algorithm>
#include <utility>

#include "layout/checked.h"

namespace hybridkv {

AttentionManager::AttentionManager(const CacheGeometry& geometry, BlockPool& pool)
    : geometry_(geometry), pool_(pool), group_keys_(geometry.attention_groups, 1) {}

bool AttentionManager::append_found(PrefixKey key, RequestBlocks& request) {
  const std::size_t before = request.attention.front().size();
  for (std::size_t group = 0; group < request.attention.size(); ++group) {
    const BlockId block = pool_.find(group_keys_(key, group));
    if (block == null_block_id) {
      for (auto& table : request.attention) table.resize(before);
      return false;
    }
    request.attention[group].push_back(block);
  }
  return true;
}

std::int64_t AttentionManager::match(std::span<const PrefixKey> keys, std::int64_t limit, RequestBlocks& request) {
  for (auto& table : request.attention) table.clear();
  const std::int64_t block = geometry_.block_size_tokens;
  const std::int64_t unit = geometry_.match_unit();
  const std::int64_t units_per_block = block / unit;
  std::int64_t tokens = 0;
  while (tokens + block <= limit &&
         append_found(keys[static_cast<std::size_t>((tokens / block + 1) * units_per_block - 1)], request))
    tokens += block;
  for (std::int64_t tail = std::min(limit - tokens, block - unit) / unit; tail > 0; --tail)
    if (append_found(keys[static_cast<std::size_t>(tokens / unit + tail - 1)], request)) {
      tokens += tail * unit;
      break;
    }
  if (geometry_.drafter_drops_block && tokens > 0) {
    tokens -= unit;
    trim(request, tokens);
  }
  return tokens;
}

void AttentionManager::trim(RequestBlocks& request, std::int64_t hit_tokens) const {
  const auto blocks = static_cast<std::size_t>(ceil_div(hit_tokens, geometry_.block_size_tokens));
  for (auto& table : request.attention) table.resize(blocks);
}

template <class Visit>
void AttentionManager::take_out_passed(RequestBlocks& request, std::int64_t computed, Visit&& visit) const {
  if (geometry_.attention_masks.empty()) return;
  for (std::size_t group = 0; group < request.attention.size(); ++group) {
    std::vector<BlockId>& table = request.attention[group];
    const std::int64_t passed = geometry_.attention_masks[group].first_visible(computed) / geometry_.block_size_tokens;
    for (std::int64_t i = std::min(passed, std::ssize(table)); i > 0 && table[i - 1] != null_block_id; --i)
      visit(std::exchange(table[i - 1], null_block_id));
  }
}

void AttentionManager::give_back_passed(RequestBlocks& request, std::int64_t computed) {
  take_out_passed(request, computed, [&](BlockId block) { pool_.release(block); });
}

void AttentionManager::skip_passed(RequestBlocks& request, std::int64_t computed) const {
  take_out_passed(request, computed, [](BlockId) {});
}

std::int64_t AttentionManager::needed(std::int64_t held, std::int64_t tokens) const {
  return geometry_.attention_groups * (ceil_div(tokens, geometry_.block_size_tokens) - held);
}

std::int64_t AttentionManager::kept(const RequestBlocks& request) const {
  if (request.attention.empty()) return 0;
  return static_cast<std::int64_t>(request.attention.front().size()) - (request.attention_tail_shared ? 1 : 0);
}

void AttentionManager::grow(RequestBlocks& request, std::int64_t tokens, std::vector<BlockCopy>& copied) {
  const auto blocks = static_cast<std::size_t>(ceil_div(tokens, geometry_.block_size_tokens));
  for (auto& table : request.attention) {
    if (request.attention_tail_shared) {
      copied.push_back({table.back(), pool_.take(BlockKind::attention)});
      table.back() = copied.back().to;
    }
    while (table.size() < blocks) table.push_back(pool_.take(BlockKind::attention));
  }
  request.attention_tail_shared = false;
}

void AttentionManager::publish(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t tokens,
                               std::int64_t partial_end, std::int64_t step) {
  if (request.attention.empty()) return;
  const std::int64_t block = geometry_.block_size_tokens;
  const std::int64_t unit = geometry_.match_unit();
  const std::int64_t units_per_block = block / unit;
  const std::int64_t full = std::min(tokens / block, static_cast<std::int64_t>(keys.size()) / units_per_block);
  for (std::size_t group = 0; group < request.attention.size(); ++group) {
    const std::vector<BlockId>& table = request.attention[group];
    for (std::int64_t i = request.published_attention; i < full; ++i)
      if (table[static_cast<std::size_t>(i)] != null_block_id)
        pool_.publish(table[static_cast<std::size_t>(i)],
                      group_keys_(keys[static_cast<std::size_t>((i + 1) * units_per_block - 1)], group), step, false);
  }
  request.published_attention = std::max(request.published_attention, full);
  if (partial_end % block == 0 || partial_end > tokens || partial_end / block < full) return;
  if (partial_end <= request.partial_tokens) return;
  for (std::size_t group = 0; group < request.attention.size(); ++group)
    pool_.publish(request.attention[group][static_cast<std::size_t>(partial_end / block)],
                  group_keys_(keys[static_cast<std::size_t>(partial_end / unit - 1)], group), step, false);
  request.partial_tokens = partial_end;
  request.attention_tail_shared = true;
}

}  // namespace hybridkv
