#include "simulator/cache_manager.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "simulator/prefill_chunk.h"

namespace hybridkv {

namespace {

// Of one block in the pool's arrays: record 16, links 8, node 16, two to four slots of 8.
constexpr std::int64_t most_bytes_per_block = 72;

std::unique_ptr<BlockPool> make_pool(const CacheGeometry& geometry) {
  validate(geometry);
  const std::int64_t needed = geometry.num_blocks * most_bytes_per_block;
  const std::int64_t memory = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  if (needed > memory)
    throw ResourceError(fmt::format("simulating {} blocks takes {} MiB of memory, this machine has {} MiB; simulate "
                                    "fewer blocks", geometry.num_blocks, needed >> 20, memory >> 20));
  return std::make_unique<BlockPool>(geometry.num_blocks, geometry.unlimited_pool);
}

}  // namespace

CacheManager::CacheManager(const CacheGeometry& geometry)
    : geometry_(geometry), pool_(make_pool(geometry)), attention_(geometry_, *pool_), states_(geometry_, *pool_) {}

RequestBlocks CacheManager::make_request() const {
  RequestBlocks request;
  request.attention.resize(static_cast<std::size_t>(geometry_.attention_groups));
  request.states.resize(static_cast<std::size_t>(geometry_.state_groups));
  return request;
}

void CacheManager::end_step() {
  for (const BlockCopy& copy : copied_) pool_->release(copy.from);
  copied_.clear();
}

PrefixHit CacheManager::look_up(RequestBlocks& request, const CachedPrompt& prompt) {
  request.clear();
  if (!geometry_.caches_prefixes()) return {};
  const std::int64_t limit = prompt.tokens - 1;
  std::int64_t attention = limit;
  if (geometry_.attention_groups > 0) attention = attention_.match(prompt.keys, limit, request);
  if (geometry_.state_groups == 0) {
    attention_.skip_passed(request, attention);
    return {attention, 0};
  }
  const std::int64_t joint = states_.match(prompt.keys, attention, request);
  attention_.trim(request, joint);
  attention_.skip_passed(request, joint);
  return {joint, geometry_.attention_groups > 0 ? attention - joint : 0};
}

bool CacheManager::admit(RequestBlocks& request, const CachedPrompt& prompt, const PrefixHit& hit,
                         std::int64_t chunk, std::int64_t reserve) {
  if (states_.made_in_step(request, step_)) return false;
  std::int64_t queued = 0;
  for (const auto& table : request.attention)
    for (const BlockId block : table) queued += block != null_block_id && pool_->is_free(block) ? 1 : 0;
  for (const StateTable& table : request.states)
    for (const StateEntry& entry : table.live) queued += pool_->is_free(entry.block) ? 1 : 0;
  // What the whole prompt needs is never less than what its first chunk needs.
  const std::int64_t kept = hit.tokens / geometry_.block_size_tokens;
  const std::int64_t needed = attention_.needed(kept, prompt.tokens) +
                              states_.needed_first(hit.tokens, prompt.tokens) + geometry_.extra_blocks_per_request;
  if (!pool_->has_room(needed + queued + reserve)) return false;

  for (const auto& table : request.attention)
    for (const BlockId block : table)
      if (block != null_block_id) pool_->hold(block);
  for (const StateTable& table : request.states)
    for (const StateEntry& entry : table.live) {
      pool_->hold(entry.block);
      pool_->mark_used(entry.block);
    }
  request.published_attention = request.published_states = kept;
  request.partial_tokens = hit.tokens;
  request.attention_tail_shared = request.state_tail_shared = hit.tokens % geometry_.block_size_tokens != 0;
  const std::int64_t branch = branch_checkpoint(geometry_, hit.tokens, hit.uncached_common);
  grow_and_publish(request, prompt, hit.tokens + chunk, true, branch);
  return true;
}

bool CacheManager::advance(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t computed,
                           std::int64_t chunk, std::int64_t branch) {
  states_.drop_passed(request, computed);
  attention_.give_back_passed(request, computed);
  const std::int64_t needed = attention_.needed(attention_.kept(request), computed + chunk) +
                              states_.needed_next(request, computed + chunk);
  if (!pool_->has_room(needed)) return false;
  grow_and_publish(request, prompt, computed + chunk, false, branch);
  return true;
}

void CacheManager::grow_and_publish(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t end,
                                    bool first_chunk, std::int64_t branch) {
  const std::size_t sources = copied_.size();
  attention_.grow(request, end, copied_);
  copied_attention_ += static_cast<std::int64_t>(copied_.size() - sources);
  copied_states_ += states_.grow(request, end, first_chunk, copied_);
  if (first_chunk)
    for (std::int64_t i = 0; i < geometry_.extra_blocks_per_request; ++i)
      request.extras.push_back(pool_->take(BlockKind::extra));
  if (!geometry_.caches_prefixes()) return;
  attention_.publish(request, prompt.keys, end, partial_tail_end(geometry_, prompt.tokens), step_);
  states_.publish(request, prompt.keys, end,
                  {prompt.tokens, branch, partial_checkpoint(geometry_, prompt.tokens)}, step_);
}

void CacheManager::release(RequestBlocks& request) {
  for (const auto& table : request.attention)
    for (std::size_t i = table.size(); i > 0; --i)
      if (table[i - 1] != null_block_id) pool_->release(table[i - 1]);
  for (const StateTable& table : request.states) {
    for (std::size_t i = table.spare.size(); i > 0; --i) pool_->release(table.spare[i - 1]);
    for (std::size_t i = table.live.size(); i > 0; --i) pool_->release(table.live[i - 1].block);
  }
  for (std::size_t i = request.extras.size(); i > 0; --i) pool_->release(request.extras[i - 1]);
  request.clear();
}

}  // namespace hybridkv
