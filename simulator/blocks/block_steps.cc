#include "simulator/blocks/block_steps.h"

#include <algorithm>

#include "base/checked.h"
#include "simulator/blocks/prefill_chunk.h"

namespace hybridkv {

PrefixHit BlockSteps::look_up(RequestBlocks& request, const CachedPrompt& prompt) {
  request.clear();
  const CacheGeometry& geometry = cache_.geometry;
  if (!geometry.caches_prefixes()) return {};
  const std::int64_t limit = prompt.tokens - 1;
  std::int64_t attention = limit;
  if (geometry.attention_groups > 0) attention = cache_.attention.match(prompt.keys, limit, request);
  if (geometry.state_groups == 0) {
    cache_.attention.skip_passed(request, attention);
    return {attention, 0};
  }
  const std::int64_t joint = cache_.states.match(prompt.keys, attention, request);
  cache_.attention.trim(request, joint);
  cache_.attention.skip_passed(request, joint);
  return {joint, geometry.attention_groups > 0 ? attention - joint : 0};
}

std::int64_t BlockSteps::most_window_blocks(std::int64_t group, std::int64_t, std::int64_t end) const {
  return table_entries(cache_.geometry.attention_table(group), end);
}

void BlockSteps::cap_windows(std::int64_t start, std::int64_t end) {
  const CacheGeometry& geometry = cache_.geometry;
  for (std::int64_t group = 0; group < std::ssize(geometry.attention_masks); ++group) {
    if (!geometry.is_windowed(group)) continue;
    const AttentionManager::Group& own = cache_.attention.groups()[static_cast<std::size_t>(group)];
    const std::int64_t found = start / own.block, wanted = ceil_div(end, own.block) - found;
    cache_.demand[static_cast<std::size_t>(own.arena)] -=
        std::max<std::int64_t>(0, wanted - most_window_blocks(group, found, end));
  }
}

bool BlockSteps::admit(RequestBlocks& request, const CachedPrompt& prompt, const PrefixHit& hit, std::int64_t chunk,
                       bool keep_watermark) {
  if (cache_.states.made_in_step(request, cache_.step)) return false;
  const bool watermarks = keep_watermark && !cache_.ledger;
  for (std::size_t arena = 0; arena < cache_.pools.size(); ++arena)
    cache_.demand[arena] = watermarks ? cache_.geometry.watermark_blocks(static_cast<std::int64_t>(arena)) : 0;
  cache_.held.add_demand(request, prompt.tokens, cache_.demand);
  // What the whole prompt needs is never less than what its first chunk needs.
  cache_.attention.add_first(request, hit.tokens, prompt.tokens, cache_.demand);
  cache_.states.add_first(request, hit.tokens, prompt.tokens, cache_.demand);
  cap_windows(hit.tokens, prompt.tokens);
  if (!cache_.fits(request, CacheParts::Tables::found, keep_watermark)) return false;

  cache_.attention.hold(request);
  cache_.states.hold(request);
  if (cache_.kept) cache_.kept->arrive(request, prompt.keys, hit.tokens, prompt.tokens);
  request.published_attention = request.partial_tokens = request.shared_tail_tokens = hit.tokens;
  request.published_states = hit.tokens / cache_.geometry.state_block();
  request.state_tail_shared = hit.tokens % cache_.geometry.state_block() != 0;
  if (cache_.ledger) {
    cache_.attention.add_first(request, hit.tokens, hit.tokens + chunk, cache_.demand);
    cache_.states.add_first(request, hit.tokens, hit.tokens + chunk, cache_.demand);
    cache_.provide(request);
  }
  grow(request, hit.tokens + chunk, true);
  cache_.held.grow(request, prompt.tokens);
  publish(request, prompt, hit.tokens + chunk, branch(hit));
  return true;
}

bool BlockSteps::advance(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t computed, std::int64_t chunk,
                         std::int64_t branch) {
  const std::int64_t end = computed + chunk;
  cache_.states.drop_passed(request, computed);
  cache_.attention.give_back_passed(request, computed);
  const bool takes_attention = cache_.attention.add_next(request, end, cache_.demand);
  const bool takes_states = cache_.states.add_next(request, end, cache_.demand);
  const bool takes_held = cache_.held.add_demand(request, end, cache_.demand);
  // Most decoded tokens stay within the blocks there are.
  if (takes_attention || takes_states || takes_held) {
    if (!cache_.fits(request, CacheParts::Tables::held)) return false;
    if (cache_.ledger) {
      cache_.attention.add_next(request, end, cache_.demand);
      cache_.states.add_next(request, end, cache_.demand);
      cache_.provide(request);
    }
    grow(request, end, false);
    cache_.held.grow(request, end);
  }
  publish(request, prompt, end, branch);
  return true;
}

void BlockSteps::grow(RequestBlocks& request, std::int64_t end, bool first_chunk) {
  cache_.copied_attention += cache_.attention.grow(request, end, cache_.copied);
  cache_.copied_states += cache_.states.grow(request, end, first_chunk, cache_.copied);
}

void BlockSteps::publish(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t end, std::int64_t branch) {
  const CacheGeometry& geometry = cache_.geometry;
  if (!geometry.caches_prefixes()) return;
  cache_.attention.publish(request, prompt.keys, end, partial_tail_end(geometry, prompt.tokens), cache_.step);
  cache_.states.publish(request, prompt.keys, end,
                        {prompt.tokens, branch, partial_checkpoint(geometry, prompt.tokens)}, cache_.step);
  if (cache_.kept) cache_.kept->note(request, prompt.keys);
}

std::int64_t BlockSteps::branch(const PrefixHit& hit) const {
  return branch_checkpoint(cache_.geometry, hit.tokens, hit.uncached_common);
}

std::int64_t BlockSteps::first_chunk(const ChunkQuestion& asked, const PrefixHit& hit, std::int64_t budget) const {
  return next_prefill_chunk(cache_.geometry, {asked.start, asked.tokens, hit.uncached_common}, budget);
}

std::int64_t BlockSteps::next_chunk(const ChunkQuestion& asked, std::int64_t budget) const {
  return next_prefill_chunk(cache_.geometry, {asked.start, asked.tokens, 0}, budget);
}

}  // namespace hybridkv
