#include "simulator/cache_manager.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/contract.h"
#include "simulator/prefill_chunk.h"

namespace hybridkv {

namespace {

/// A pool that never evicts needs no pages of others.
std::unique_ptr<PageLedger> make_ledger(const CacheGeometry& geometry) {
  validate(geometry);
  if (!geometry.shares_large_pages() || geometry.unlimited_pool) return nullptr;
  return std::make_unique<PageLedger>(geometry.num_large_pages(), geometry.blocks_per_large_page);
}

std::vector<BlockPool> make_pools(const CacheGeometry& geometry, PageLedger* ledger) {
  BlockPool::Rules rules{.releases_in_order = geometry.rules.has_match_units(),
                               .tail_keys = geometry.rules.has_match_units() && geometry.has_partial_tails(),
                         .ledger = ledger,
                         .most_bytes = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE)};
  std::vector<BlockPool> pools;
  pools.reserve(static_cast<std::size_t>(geometry.num_arenas()));
  for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena) {
    rules.number = arena;
    pools.emplace_back(geometry.arena_blocks(arena), geometry.unlimited_pool, rules);
  }
  return pools;
}

}  // namespace

CacheManager::CacheManager(const CacheGeometry& geometry)
    : geometry_(geometry),
      ledger_(make_ledger(geometry)),
      pools_(make_pools(geometry, ledger_.get())),
      attention_(geometry_, pools_),
      states_(geometry_, pools_),
      held_(geometry_, pools_),
      rules_033_(geometry.rules.has_match_units() ? std::make_unique<Rules033>(geometry_, attention_, states_)
                                                  : nullptr),
      demand_(pools_.size()) {
  // A pool that never evicts has nothing to bring back, and mode none finds nothing.
  if (geometry.host && !geometry.unlimited_pool && geometry.caches_prefixes())
    host_ = std::make_unique<HostLoader>(geometry_, pools_, attention_, states_);
  const EvictionPolicy policy = geometry.scheduler.eviction;
  if (policy == EvictionPolicy::lru || geometry.unlimited_pool) return;
  kept_ = std::make_unique<KeptPrefixes>(policy, geometry_, pools_, attention_, states_);
  for (std::size_t arena = 0; arena < pools_.size(); ++arena) pools_[arena].ask(*kept_, arena);
}

RequestBlocks CacheManager::make_request() const {
  RequestBlocks request;
  request.attention.resize(static_cast<std::size_t>(geometry_.attention_groups));
  request.states.resize(static_cast<std::size_t>(geometry_.state_groups));
  return request;
}

void CacheManager::end_step() {
  // Group by group, attention first, in each in the order of the requests.
  if (rules_033_)
    std::stable_sort(copied_.begin(), copied_.end(), [&](const BlockCopy& a, const BlockCopy& b) {
      const auto kind = [&](const BlockCopy& copy) {
        return pools_[static_cast<std::size_t>(copy.arena)].kind(copy.to);
      };
      return std::pair(kind(a), a.group) < std::pair(kind(b), b.group);
    });
  for (const BlockCopy& copy : copied_) pools_[static_cast<std::size_t>(copy.arena)].release(copy.let_go);
  copied_.clear();
  contract(
      [&] { return std::all_of(pools_.begin(), pools_.end(), [](const BlockPool& pool) { return pool.adds_up(); }); },
      "every block of a pool is held, free or the null block");
}

std::vector<std::pair<std::int64_t, BlockId>> CacheManager::found_free(const RequestBlocks& request) const {
  std::vector<std::pair<std::int64_t, BlockId>> found;
  const auto add = [&](std::int64_t arena, BlockId block) {
    if (block != null_block_id && pool(arena).is_free(block)) found.emplace_back(arena, block);
  };
  for (std::size_t group = 0; group < request.attention.size(); ++group)
    for (const BlockId block : request.attention[group]) add(attention_.groups()[group].arena, block);
  for (std::size_t group = 0; group < request.states.size(); ++group)
    for (const StateEntry& entry : request.states[group].live)
      add(static_cast<std::int64_t>(states_.arena(group)), entry.block);
  return found;
}

bool CacheManager::fits(const RequestBlocks* found, bool keep_watermark) {
  if (ledger_) {
    const double kept = keep_watermark ? geometry_.scheduler.watermark : 0;
    const auto spare = static_cast<std::int64_t>(kept * static_cast<double>(ledger_->num_pages()));
    std::vector<std::pair<std::int64_t, BlockId>> found_blocks;
    if (found) found_blocks = found_free(*found);
    const bool room = ledger_->fits(pools_, demand_, spare, found_blocks);
    std::fill(demand_.begin(), demand_.end(), 0);
    return room;
  }
  bool fits = true;
  for (std::size_t arena = 0; arena < pools_.size(); ++arena)
    fits = pools_[arena].has_room(std::exchange(demand_[arena], 0)) && fits;
  return fits;
}

void CacheManager::provide(RequestBlocks& request) {
  ledger_->provide(pools_, demand_, request);
  std::fill(demand_.begin(), demand_.end(), 0);
}

PrefixHit CacheManager::look_up(RequestBlocks& request, const CachedPrompt& prompt) {
  if (host_) host_->load(prompt.keys, prompt.tokens - 1, step_);
  if (rules_033_) return look_up_033(request, prompt);
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

void CacheManager::cap_windows(std::int64_t start, std::int64_t end) {
  const std::int64_t longest = geometry_.scheduler.max_model_len.value_or(INT64_MAX);
  for (std::int64_t group = 0; group < std::ssize(geometry_.attention_masks); ++group) {
    if (!geometry_.is_windowed(group)) continue;
    const AttentionManager::Group& own = attention_.groups()[static_cast<std::size_t>(group)];
    const std::int64_t found = start / own.block, wanted = ceil_div(end, own.block) - found;
    // vLLM 0.33 counts the blocks that were found among those of a window, the passed ones too.
    const std::int64_t most = rules_033_ ? std::max<std::int64_t>(0, geometry_.window_blocks(group, longest) - found)
                                         : geometry_.window_blocks(group, end);
    demand_[static_cast<std::size_t>(own.arena)] -= std::max<std::int64_t>(0, wanted - most);
  }
}

bool CacheManager::admit(RequestBlocks& request, const CachedPrompt& prompt, const PrefixHit& hit,
                         std::int64_t chunk, bool keep_watermark) {
  if (rules_033_)
    return admit_033(request, prompt,
                       {hit.tokens, hit.tokens + chunk, prompt.prompt, prompt.tokens, junction(geometry_, hit)},
                       keep_watermark);
  if (states_.made_in_step(request, step_)) return false;
  for (std::size_t arena = 0; arena < pools_.size(); ++arena)
    demand_[arena] = keep_watermark && !ledger_ ? geometry_.watermark_blocks(static_cast<std::int64_t>(arena)) : 0;
  held_.add_demand(request, prompt.tokens, demand_);
  // What the whole prompt needs is never less than what its first chunk needs.
  attention_.add_first(request, hit.tokens, prompt.tokens, demand_);
  states_.add_first(request, hit.tokens, prompt.tokens, demand_);
  cap_windows(hit.tokens, prompt.tokens);
  if (!fits(&request, keep_watermark)) return false;

  attention_.hold(request);
  states_.hold(request);
  if (kept_) kept_->arrive(request, prompt.keys, hit.tokens);
  request.published_attention = request.partial_tokens = request.shared_tail_tokens = hit.tokens;
  request.published_states = hit.tokens / geometry_.state_block();
  request.state_tail_shared = hit.tokens % geometry_.state_block() != 0;
  const std::int64_t branch = branch_checkpoint(geometry_, hit.tokens, hit.uncached_common);
  if (ledger_) {
    attention_.add_first(request, hit.tokens, hit.tokens + chunk, demand_);
    states_.add_first(request, hit.tokens, hit.tokens + chunk, demand_);
    provide(request);
  }
  grow(request, hit.tokens + chunk, true);
  held_.grow(request, prompt.tokens);
  publish(request, prompt, hit.tokens + chunk, branch);
  return true;
}

bool CacheManager::advance(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t computed,
                           std::int64_t chunk, std::int64_t branch) {
  if (rules_033_)
    return advance_033(request, prompt, {computed, computed + chunk, prompt.prompt, prompt.tokens, branch});
  states_.drop_passed(request, computed);
  attention_.give_back_passed(request, computed);
  const bool takes_attention = attention_.add_next(request, computed + chunk, demand_);
  const bool takes_states = states_.add_next(request, computed + chunk, demand_);
  const bool takes_held = held_.add_demand(request, computed + chunk, demand_);
  // Most decoded tokens stay within the blocks there are.
  if (takes_attention || takes_states || takes_held) {
    if (!fits(nullptr, false)) return false;
    if (ledger_) {
      attention_.add_next(request, computed + chunk, demand_);
      states_.add_next(request, computed + chunk, demand_);
      provide(request);
    }
    grow(request, computed + chunk, false);
    held_.grow(request, computed + chunk);
  }
  publish(request, prompt, computed + chunk, branch);
  return true;
}

void CacheManager::grow(RequestBlocks& request, std::int64_t end, bool first_chunk) {
  copied_attention_ += attention_.grow(request, end, copied_);
  copied_states_ += states_.grow(request, end, first_chunk, copied_);
}

void CacheManager::publish(RequestBlocks& request, const CachedPrompt& prompt, std::int64_t end, std::int64_t branch) {
  if (!geometry_.caches_prefixes()) return;
  attention_.publish(request, prompt.keys, end, partial_tail_end(geometry_, prompt.tokens), step_);
  states_.publish(request, prompt.keys, end,
                  {prompt.tokens, branch, partial_checkpoint(geometry_, prompt.tokens)}, step_);
  if (kept_) kept_->note(request, prompt.keys);
}

void CacheManager::release(RequestBlocks& request) {
  attention_.release(request);
  states_.release(request);
  held_.release(request);
  request.clear();
}

}  // namespace hybridkv
