#include "simulator/blocks/attention_publisher.h"

#include <algorithm>

#include "base/checked.h"

namespace hybridkv {

AttentionPublisher::AttentionPublisher(const CacheGeometry& geometry, const PrefixPositions& positions,
                                       const AttentionManager& attention)
    : geometry_(geometry), positions_(positions), attention_(attention) {}

void AttentionPublisher::publish(RequestBlocks& request, std::span<const PrefixKey> keys, const ComputedChunk& chunk,
                                 std::int64_t step) const {
  const std::int64_t unit = positions_.unit();
  const std::int64_t known = std::min<std::int64_t>(chunk.end, std::ssize(keys) * unit);
  // What a drafter of several modules may still compute anew.
  const std::int64_t lag = std::max<std::int64_t>(0, geometry_.rules.lookahead_tokens - 1);
  for (std::size_t group = 0; group < attention_.groups().size(); ++group) {
    const AttentionManager::Group& own = attention_.groups()[group];
    const bool drops = geometry_.drafter_drops_block && geometry_.rules.drafts(group);
    const KeyMask mask = geometry_.attention_masks.empty() ? KeyMask{} : geometry_.attention_masks[group];
    const std::int64_t window = mask.kind == MaskKind::full ? 0 : ceil_div(mask.window_tokens - 1, own.block);
    const std::int64_t computed = geometry_.rules.drafts(group) ? chunk.end - lag : chunk.end;
    const std::int64_t end = std::min({known, computed, positions_.published_end(chunk.end, own.block, drops)});
    const std::vector<BlockId>& table = request.attention[group];
    const auto key_at = [&](std::int64_t units) {
      return attention_.group_keys()(keys[static_cast<std::size_t>(units - 1)], group);
    };
    for (std::int64_t i = request.published_attention / own.block; i < end / own.block; ++i) {
      const BlockId block = table[static_cast<std::size_t>(i)];
      if (block == null_block_id || own.pool->key(block) != 0) continue;
      if (mask.kind != MaskKind::full &&
          !positions_.keeps_window_block(i, own.block, window, drops, chunk.prompt, chunk.junction))
        continue;
      own.pool->publish(block, key_at((i + 1) * own.units), step, false);
      // A full block is entered anew, and its tail behind it.
      if (const PrefixKey tail = own.pool->tail_key(block); tail != 0) own.pool->publish_tail(block, tail, step);
    }
  }
  request.published_attention =
      std::max(request.published_attention, std::min(known, positions_.published_end(chunk.end, 1, false)) - lag);
  const std::int64_t tail = positions_.attention_tail(chunk.prompt);
  if (tail > request.partial_tokens && tail <= known - lag) publish_tail(request, keys, tail, step);
}

void AttentionPublisher::publish_tail(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t tail,
                                      std::int64_t step) const {
  for (std::size_t group = 0; group < attention_.groups().size(); ++group) {
    const AttentionManager::Group& own = attention_.groups()[group];
    if (tail % own.block == 0) continue;
    const BlockId block = request.attention[group][static_cast<std::size_t>(tail / own.block)];
    if (block == null_block_id || own.pool->tail_key(block) != 0) continue;
    const PrefixKey key = keys[static_cast<std::size_t>(tail / positions_.unit() - 1)];
    own.pool->publish_tail(block, attention_.group_keys()(key, group), step);
  }
  request.partial_tokens = tail;
}

}  // namespace hybridkv
