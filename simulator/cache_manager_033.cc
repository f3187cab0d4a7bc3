// The operations of a cache with the rules of vLLM 0.33 (KVCacheManager.allocate_slots and around it).
#include <algorithm>

#include "base/checked.h"
#include "simulator/cache_manager.h"

namespace hybridkv {

std::int64_t CacheManager::slots(std::int64_t end) const {
  return std::min(end + geometry_.speculative_tokens,
                  std::max(end, geometry_.scheduler.max_model_len.value_or(INT64_MAX)));
}

PrefixHit CacheManager::look_up_033(RequestBlocks& request, const CachedPrompt& prompt) {
  request.clear();
  if (!geometry_.caches_prefixes()) return {};
  const PrefixHit hit = rules_033_->lookup.look_up(request, prompt.keys, prompt.tokens - 1);
  attention_.skip_passed(request, hit.tokens);
  return hit;
}

void CacheManager::add_first_033(const RequestBlocks& request, const ComputedChunk& chunk, std::int64_t slots,
                                 bool keep_watermark) {
  for (std::size_t arena = 0; arena < pools_.size(); ++arena)
    demand_[arena] = keep_watermark ? geometry_.watermark_blocks(static_cast<std::int64_t>(arena)) : std::int64_t{0};
  attention_.add_first(request, chunk.start, slots, demand_);
  if (geometry_.aligns_chunks())
    rules_033_->columns.add_demand(request, chunk, true, demand_);
  else
    states_.add_first(request, chunk.start, chunk.end, demand_);
}

bool CacheManager::admit_033(RequestBlocks& request, const CachedPrompt& prompt, const ComputedChunk& chunk,
                             bool keep_watermark) {
  if (rules_033_->columns.made_in_step(request)) return false;
  // The whole sequence as if computed in one chunk, without a drafter's tokens; then the chunk with them.
  ComputedChunk whole = chunk;
  whole.end = std::max(chunk.start, std::min(prompt.tokens, geometry_.scheduler.max_model_len.value_or(INT64_MAX)));
  add_first_033(request, whole, whole.end, keep_watermark);
  held_.add_demand(request, prompt.tokens, demand_);
  cap_windows(whole.start, whole.end);
  if (!fits()) return false;
  add_first_033(request, chunk, slots(chunk.end), keep_watermark);
  held_.add_demand(request, prompt.tokens, demand_);
  if (!fits()) return false;

  attention_.hold(request);
  states_.hold(request);
  if (kept_) kept_->arrive(request, prompt.keys, chunk.start);
  request.published_attention = request.shared_tail_tokens = chunk.start;
  request.published_states = chunk.start / geometry_.state_block();
  grow_033(request, chunk, true);
  held_.grow(request, prompt.tokens);
  publish_033(request, prompt, chunk);
  return true;
}

bool CacheManager::advance_033(RequestBlocks& request, const CachedPrompt& prompt, const ComputedChunk& chunk) {
  attention_.give_back_passed(request, chunk.start);
  states_.drop_passed(request, chunk.start);
  request.exported_tokens = 0;
  const bool takes_attention = attention_.add_next(request, slots(chunk.end), demand_);
  const bool takes_states =
      geometry_.aligns_chunks() && rules_033_->columns.add_demand(request, chunk, false, demand_);
  if (takes_attention || takes_states) {
    if (!fits()) return false;
    grow_033(request, chunk, false);
  }
  publish_033(request, prompt, chunk);
  return true;
}

void CacheManager::grow_033(RequestBlocks& request, const ComputedChunk& chunk, bool first) {
  copied_attention_ += attention_.grow(request, slots(chunk.end), copied_);
  copied_states_ += geometry_.aligns_chunks() ? rules_033_->columns.grow(request, chunk, first, step_, copied_)
                                              : states_.grow(request, chunk.end, first, copied_);
}

void CacheManager::publish_033(RequestBlocks& request, const CachedPrompt& prompt, ComputedChunk chunk) {
  if (!geometry_.caches_prefixes()) return;
  // Rows of a drafter's tokens hold nothing that is known.
  chunk.end = std::min(chunk.end, prompt.tokens);
  rules_033_->publisher.publish(request, prompt.keys, chunk, step_);
  if (geometry_.aligns_chunks()) rules_033_->columns.publish(request, prompt.keys, chunk, step_);
  if (kept_) kept_->note(request, prompt.keys);
}

void CacheManager::publish_sampled(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t computed,
                                   std::int64_t branch) {
  if (!rules_033_ || geometry_.speculative_tokens == 0 || !geometry_.caches_prefixes()) return;
  const ComputedChunk chunk{computed, computed, prompt.prompt, prompt.tokens, branch};
  rules_033_->publisher.publish(request, prompt.keys, chunk, step_);
  if (geometry_.aligns_chunks()) rules_033_->columns.publish_boundaries(request, prompt.keys, chunk, step_);
  if (kept_) kept_->note(request, prompt.keys);
}

}  // namespace hybridkv
