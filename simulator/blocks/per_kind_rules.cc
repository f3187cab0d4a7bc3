#include "simulator/blocks/per_kind_rules.h"

#include <algorithm>

#include "simulator/blocks/block_steps.h"

namespace hybridkv {

namespace {

class PerKindSteps final : public BlockSteps {
 public:
  explicit PerKindSteps(CacheParts& cache)
      : BlockSteps(cache),
        by_kind_(!cache.geometry.attention_masks.empty() && !cache.geometry.drafter_drops_block &&
                 !cache.geometry.has_partial_tails()) {}

  PrefixHit look_up(RequestBlocks& request, const CachedPrompt& prompt) override {
    if (!by_kind_ || !cache_.geometry.caches_prefixes()) return BlockSteps::look_up(request, prompt);
    request.clear();
    const std::int64_t limit = prompt.tokens - 1, full = find_full(request, prompt.keys, limit);
    std::int64_t tokens = longest_state(request, prompt.keys, full);
    while (tokens > 0 && !find_windows(request, prompt.keys, tokens))
      tokens = longest_state(request, prompt.keys, tokens - 1);
    cache_.attention.trim(request, tokens);
    cache_.attention.skip_passed(request, tokens);
    return {tokens, has_full() ? full - tokens : 0};
  }

 private:
  bool has_full() const {
    for (std::int64_t group = 0; group < cache_.geometry.attention_groups; ++group)
      if (!cache_.geometry.is_windowed(group)) return true;
    return false;
  }

  BlockId find(std::span<const PrefixKey> keys, std::size_t group, std::int64_t block) const {
    const AttentionManager::Group& own = cache_.attention.groups()[group];
    const PrefixKey key = keys[static_cast<std::size_t>((block + 1) * own.units - 1)];
    return own.pool->find(cache_.attention.group_keys()(key, group));
  }

  /// Tokens from the start of which all groups of full attention hold the blocks; `limit` without any such group.
  std::int64_t find_full(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t limit) const {
    std::int64_t tokens = limit;
    for (std::size_t group = 0; group < request.attention.size(); ++group) {
      if (cache_.geometry.is_windowed(static_cast<std::int64_t>(group))) continue;
      const std::int64_t size = cache_.attention.groups()[group].block;
      std::vector<BlockId>& table = request.attention[group];
      while ((std::ssize(table) + 1) * size <= tokens) {
        const BlockId block = find(keys, group, std::ssize(table));
        if (block == null_block_id) break;
        table.push_back(block);
      }
      tokens = std::min(tokens, std::ssize(table) * size);
    }
    return tokens;
  }

  /// The longest prefix of at most so many tokens at whose end a state is kept, or without states all blocks end.
  std::int64_t longest_state(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t limit) const {
    if (cache_.geometry.state_groups > 0) return cache_.states.match(keys, limit, request);
    return floor_to(limit, cache_.geometry.resume_step());
  }

  /// Does every group with a window or chunk hold what it needs of a prefix of so many tokens? Writes the blocks.
  bool find_windows(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t tokens) const {
    for (std::size_t group = 0; group < request.attention.size(); ++group) {
      const KeyMask& mask = cache_.geometry.attention_masks[group];
      if (mask.kind == MaskKind::full) continue;
      const std::int64_t size = cache_.attention.groups()[group].block, blocks = tokens / size;
      const std::int64_t first = mask.kind == MaskKind::sliding_window
                                     ? std::max<std::int64_t>(0, tokens - mask.window_tokens)
                                     : mask.first_visible(tokens);
      std::vector<BlockId>& table = request.attention[group];
      table.assign(static_cast<std::size_t>(blocks), null_block_id);
      for (std::int64_t block = blocks - 1; block >= first / size; --block) {
        const BlockId found = find(keys, group, block);
        if (found == null_block_id) return false;
        table[static_cast<std::size_t>(block)] = found;
      }
    }
    return true;
  }

  bool by_kind_;
};

}  // namespace

constinit const PerKindRules per_kind_rules;

std::unique_ptr<BlockSteps> PerKindRules::start(CacheParts& cache) const {
  return std::make_unique<PerKindSteps>(cache);
}

}  // namespace hybridkv
