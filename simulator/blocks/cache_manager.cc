#include "simulator/blocks/cache_manager.h"

#include <algorithm>

#include "base/contract.h"
#include "simulator/blocks/block_rules.h"

namespace hybridkv {

CacheManager::CacheManager(const CacheGeometry& geometry)
    : parts_(geometry), steps_(geometry.rules.blocks->start(parts_)) {
  // A pool that never evicts has nothing to bring back, and mode none finds nothing.
  if (geometry.host && !geometry.unlimited_pool && geometry.caches_prefixes())
    host_ = std::make_unique<HostLoader>(parts_.geometry, parts_.pools, parts_.attention, parts_.states);
}

RequestBlocks CacheManager::make_request() const {
  RequestBlocks request;
  request.attention.resize(static_cast<std::size_t>(geometry().attention_groups));
  request.states.resize(static_cast<std::size_t>(geometry().state_groups));
  return request;
}

void CacheManager::end_step() {
  steps_->order(parts_.copied);
  for (const BlockCopy& copy : parts_.copied) parts_.pools[static_cast<std::size_t>(copy.arena)].release(copy.let_go);
  parts_.copied.clear();
  const auto& pools = parts_.pools;
  const auto adds_up = [](const BlockArena& pool) { return pool.adds_up(); };
  contract([&] { return std::all_of(pools.begin(), pools.end(), adds_up); },
           "every block of a pool is held, free or the null block");
}

PrefixHit CacheManager::look_up(RequestBlocks& request, const CachedPrompt& prompt) {
  if (host_) host_->load(prompt.keys, prompt.tokens - 1, parts_.step);
  return steps_->look_up(request, prompt);
}

void CacheManager::release(RequestBlocks& request) {
  parts_.attention.release(request);
  parts_.states.release(request);
  parts_.held.release(request);
  request.clear();
}

}  // namespace hybridkv
