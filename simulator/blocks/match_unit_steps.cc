#include "simulator/blocks/match_unit_steps.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "simulator/blocks/block_rules.h"

namespace hybridkv {

std::int64_t MatchUnitSteps::room(std::int64_t end) const {
  return cache_.geometry.rules.blocks->room_tokens(cache_.geometry, end);
}

void MatchUnitSteps::order(std::vector<BlockCopy>& copied) const {
  // Group by group, attention first, in each in the order of the requests.
  std::stable_sort(copied.begin(), copied.end(), [&](const BlockCopy& a, const BlockCopy& b) {
    const auto kind = [&](const BlockCopy& copy) {
      return cache_.pools[static_cast<std::size_t>(copy.arena)].kind(copy.to);
    };
    return std::pair(kind(a), a.group) < std::pair(kind(b), b.group);
  });
}

PrefixHit MatchUnitSteps::look_up(RequestBlocks& request, const CachedPrompt& prompt) {
  request.clear();
  if (!cache_.geometry.caches_prefixes()) return {};
  const PrefixHit hit = lookup_.look_up(request, prompt.keys, prompt.tokens - 1);
  cache_.attention.skip_passed(request, hit.tokens);
  return hit;
}

std::int64_t MatchUnitSteps::most_window_blocks(std::int64_t group, std::int64_t found, std::int64_t) const {
  // The blocks that were found count among those of a window, the passed ones too.
  const std::int64_t longest = cache_.geometry.scheduler.max_model_len.value_or(INT64_MAX);
  return std::max<std::int64_t>(0, table_entries(cache_.geometry.attention_table(group), longest) - found);
}

void MatchUnitSteps::add_first(const RequestBlocks& request, const ComputedChunk& chunk, std::int64_t room,
                               bool keep_watermark) {
  for (std::size_t arena = 0; arena < cache_.pools.size(); ++arena)
    cache_.demand[arena] = keep_watermark ? cache_.geometry.watermark_blocks(static_cast<std::int64_t>(arena)) : 0;
  cache_.attention.add_first(request, chunk.start, room, cache_.demand);
  if (cache_.geometry.aligns_chunks())
    columns_.add_demand(request, chunk, true, cache_.demand);
  else
    cache_.states.add_first(request, chunk.start, chunk.end, cache_.demand);
}

bool MatchUnitSteps::admit(RequestBlocks& request, const CachedPrompt& prompt, const PrefixHit& hit,
                           std::int64_t tokens, bool keep_watermark) {
  const ComputedChunk chunk{hit.tokens, hit.tokens + tokens, prompt.prompt, prompt.tokens, branch(hit)};
  if (columns_.made_in_step(request)) return false;
  // The whole sequence as if computed in one chunk, without a drafter's tokens; then the chunk with them.
  ComputedChunk whole = chunk;
  const std::int64_t longest = cache_.geometry.scheduler.max_model_len.value_or(INT64_MAX);
  whole.end = std::max(chunk.start, std::min(prompt.tokens, longest));
  add_first(request, whole, whole.end, keep_watermark);
  cache_.held.add_demand(request, prompt.tokens, cache_.demand);
  cap_windows(whole.start, whole.end);
  if (!cache_.fits(request, CacheParts::Tables::found)) return false;
  add_first(request, chunk, room(chunk.end), keep_watermark);
  cache_.held.add_demand(request, prompt.tokens, cache_.demand);
  if (!cache_.fits(request, CacheParts::Tables::found)) return false;

  cache_.attention.hold(request);
  cache_.states.hold(request);
  if (cache_.kept) cache_.kept->arrive(request, prompt.keys, chunk.start, prompt.tokens);
  request.published_attention = request.shared_tail_tokens = chunk.start;
  request.published_states = chunk.start / cache_.geometry.state_block();
  grow(request, chunk, true);
  cache_.held.grow(request, prompt.tokens);
  publish(request, prompt, chunk);
  return true;
}

bool MatchUnitSteps::advance(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t computed,
                             std::int64_t tokens, std::int64_t branch) {
  const ComputedChunk chunk{computed, computed + tokens, prompt.prompt, prompt.tokens, branch};
  if (chunk.end < request.quiet_tokens) return true;
  cache_.attention.give_back_passed(request, chunk.start);
  cache_.states.drop_passed(request, chunk.start);
  request.exported_tokens = 0;
  const bool takes_attention = cache_.attention.add_next(request, room(chunk.end), cache_.demand);
  const bool takes_states =
      cache_.geometry.aligns_chunks() && columns_.add_demand(request, chunk, false, cache_.demand);
  if (takes_attention || takes_states) {
    if (!cache_.fits(request, CacheParts::Tables::held)) return false;
    grow(request, chunk, false);
  }
  publish(request, prompt, chunk);
  // The first step behind a unit still gives back what the unit before it held.
  if (quiet_unit_ > 0 && tokens == 1 && chunk.start % quiet_unit_ != 0)
    request.quiet_tokens = round_up(chunk.end, quiet_unit_);
  return true;
}

void MatchUnitSteps::grow(RequestBlocks& request, const ComputedChunk& chunk, bool first) {
  cache_.copied_attention += cache_.attention.grow(request, room(chunk.end), cache_.copied);
  cache_.copied_states += cache_.geometry.aligns_chunks()
                              ? columns_.grow(request, chunk, first, cache_.step, cache_.copied)
                              : cache_.states.grow(request, chunk.end, first, cache_.copied);
}

void MatchUnitSteps::publish(RequestBlocks& request, const CachedPrompt& prompt, ComputedChunk chunk) {
  if (!cache_.geometry.caches_prefixes()) return;
  // Rows of a drafter's tokens hold nothing that is known.
  chunk.end = std::min(chunk.end, prompt.tokens);
  publisher_.publish(request, prompt.keys, chunk, cache_.step);
  if (cache_.geometry.aligns_chunks()) columns_.publish(request, prompt.keys, chunk, cache_.step);
  if (cache_.kept) cache_.kept->note(request, prompt.keys);
}

void MatchUnitSteps::publish_sampled(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t computed,
                                     std::int64_t branch) {
  if (cache_.geometry.speculative_tokens == 0 || !cache_.geometry.caches_prefixes()) return;
  const ComputedChunk chunk{computed, computed, prompt.prompt, prompt.tokens, branch};
  publisher_.publish(request, prompt.keys, chunk, cache_.step);
  if (cache_.geometry.aligns_chunks()) columns_.publish_boundaries(request, prompt.keys, chunk, cache_.step);
  if (cache_.kept) cache_.kept->note(request, prompt.keys);
}

std::int64_t MatchUnitSteps::next_chunk(const ChunkQuestion& asked, std::int64_t budget) const {
  const CacheGeometry& geometry = cache_.geometry;
  const std::int64_t threshold = geometry.scheduler.long_prefill_threshold;
  std::int64_t tokens = std::min(asked.tokens - asked.start, budget);
  // A request that is alone gets all of the budget; the limit of one beside others may be no less than its share.
  const std::int64_t share =
      geometry.scheduler.long_prefill_threshold_adaptive ? geometry.max_num_batched_tokens / asked.requests : 0;
  if (threshold > 0 && asked.requests > 1) tokens = std::min(tokens, std::max(threshold, share));
  // A drafter of several modules computes its last tokens in one go.
  const std::int64_t rest = asked.tokens - asked.start - tokens, modules = geometry.rules.lookahead_tokens;
  if (0 < rest && rest < modules && tokens > modules - rest) tokens -= modules - rest;
  if (!geometry.aligns_chunks()) return geometry.allowed_chunk(tokens, asked.tokens - asked.start);
  const std::int64_t most =
      threshold > 0 ? std::min(geometry.max_num_batched_tokens, threshold) : geometry.max_num_batched_tokens;
  const ComputedChunk chunk{asked.start, asked.start + tokens, asked.prompt, asked.tokens, asked.branch};
  return cut_chunk(positions_, chunk, most) - asked.start;
}

std::int64_t MatchUnitSteps::first_chunk(const ChunkQuestion& asked, const PrefixHit& hit, std::int64_t budget) const {
  // One that has a single token left gets the rows of its drafter's tokens besides.
  const std::int64_t rows = 1 + cache_.geometry.speculative_tokens;
  const bool padded = rows > 1 && asked.tokens - hit.tokens == 1 && !asked.prefills_beside &&
                      (hit.tokens > 0 || asked.runs_beside);
  if (!padded) return next_chunk(asked, budget);
  if (budget < rows) return 0;
  if (!cache_.geometry.aligns_chunks()) return rows;
  const ComputedChunk chunk{hit.tokens, hit.tokens + rows, asked.prompt, asked.tokens, asked.branch};
  return cut_chunk(positions_, chunk, cache_.geometry.max_num_batched_tokens) == chunk.end ? rows : 1;
}

}  // namespace hybridkv
