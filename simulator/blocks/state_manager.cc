#include "simulator/blocks/state_manager.h"

#include <algorithm>

#include "base/checked.h"
#include "base/contract.h"

namespace hybridkv {

StateManager::StateManager(const CacheGeometry& geometry, std::span<BlockArena> pools)
    : geometry_(geometry),
      pools_(pools),
      group_keys_(geometry.state_groups, 2),
      groups_in_(pools.size()),
      block_(geometry.state_block()),
      unit_(geometry.match_unit()),
      resume_units_(geometry.resume_step() / unit_),
      checkpoint_step_(geometry.checkpoint_step()) {
  for (std::int64_t group = 0; group < geometry.state_groups; ++group) {
    arenas_.push_back(static_cast<std::size_t>(geometry.state_arena(group)));
    ++groups_in_[arenas_.back()];
  }
}

std::int64_t StateManager::match(std::span<const PrefixKey> keys, std::int64_t limit, RequestBlocks& request) {
  contract([&] { return geometry_.caches_prefixes(); }, "a prefix is looked for where one is cached");
  for (StateTable& table : request.states) table.live.clear();
  if (request.states.empty()) return 0;
  for (std::int64_t units = limit / unit_ / resume_units_ * resume_units_; units > 0; units -= resume_units_) {
    const PrefixKey key = keys[static_cast<std::size_t>(units - 1)];
    const std::int64_t tokens = units * unit_;
    const std::int64_t index = ceil_div(tokens, block_) - 1;
    std::size_t group = 0;
    for (; group < request.states.size(); ++group) {
      const BlockId block = pool(group).find(group_keys_(key, group));
      if (block == null_block_id) break;
      request.states[group].live.assign(1, {index, block});
    }
    if (group == request.states.size()) return tokens;
    for (StateTable& table : request.states) table.live.clear();
  }
  return 0;
}

bool StateManager::made_in_step(const RequestBlocks& request, std::int64_t step) const {
  for (std::size_t group = 0; group < request.states.size(); ++group) {
    const StateTable& table = request.states[group];
    if (!table.live.empty() && pool(group).published_step(table.live.back().block) == step) return true;
  }
  return false;
}

void StateManager::add_first(const RequestBlocks& request, std::int64_t hit, std::int64_t tokens,
                             std::span<std::int64_t> demand) const {
  for (std::size_t group = 0; group < request.states.size(); ++group)
    for (const StateEntry& entry : request.states[group].live)
      if (pool(group).is_free(entry.block)) ++demand[arenas_[group]];
  if (request.states.empty()) return;
  const std::int64_t states = needed_first(hit, tokens);
  for (std::size_t arena = 0; arena < groups_in_.size(); ++arena) demand[arena] += groups_in_[arena] * states;
}

bool StateManager::add_next(const RequestBlocks& request, std::int64_t tokens, std::span<std::int64_t> demand) const {
  if (request.states.empty() || geometry_.mode == CacheMode::none) return false;
  const std::int64_t states = needed_next(request, tokens);
  if (states == 0) return false;
  for (std::size_t arena = 0; arena < groups_in_.size(); ++arena) demand[arena] += groups_in_[arena] * states;
  return true;
}

void StateManager::hold(const RequestBlocks& request) {
  for (std::size_t group = 0; group < request.states.size(); ++group)
    for (const StateEntry& entry : request.states[group].live) {
      pool(group).hold(entry.block);
      pool(group).mark_used(entry.block);
    }
}

void StateManager::release(const RequestBlocks& request) {
  for (std::size_t group = 0; group < request.states.size(); ++group) {
    const StateTable& table = request.states[group];
    BlockId last = null_block_id;
    for (std::size_t i = table.spare.size(); i > 0; --i) pool(group).release(table.spare[i - 1], last);
    for (std::size_t i = table.live.size(); i > 0; --i) pool(group).release(table.live[i - 1].block, last);
  }
}

std::int64_t StateManager::needed_first(std::int64_t hit, std::int64_t tokens) const {
  const std::int64_t last = ceil_div(tokens, block_) - 1;
  std::int64_t states = 1;
  if (geometry_.mode == CacheMode::all) states = last + 1 - hit / block_;
  // A state in the middle of a block is copied before the chunk, and again where the chunk leaves that block.
  if (geometry_.mode == CacheMode::align && hit % block_ != 0 && last > hit / block_) states = 2;
  return states + geometry_.draft_states();
}

std::int64_t StateManager::needed_next(const RequestBlocks& request, std::int64_t tokens) const {
  const std::int64_t last = ceil_div(tokens, block_) - 1;
  std::int64_t states = last - request.states.front().running_index();
  if (geometry_.mode == CacheMode::align) states = std::min<std::int64_t>(states, 1);
  return states + (request.state_tail_shared ? 1 : 0);
}

void StateManager::drop_passed(RequestBlocks& request, std::int64_t computed) {
  if (request.states.empty() || geometry_.mode == CacheMode::none || computed == 0) return;
  // The last checkpoint of an engine with its own stays in use, so that it is young when the request ends.
  const std::int64_t needed = geometry_.has_own_checkpoints() ? computed / block_ - 1 : (computed - 1) / block_;
  // All groups hold states of the same positions.
  if (request.states.front().live.front().index >= needed) return;
  for (std::size_t group = 0; group < request.states.size(); ++group) {
    StateTable& table = request.states[group];
    std::size_t passed = 0;
    while (passed < table.live.size() && table.live[passed].index < needed) ++passed;
    BlockId last = null_block_id;
    for (std::size_t i = passed; i > 0; --i) pool(group).release(table.live[i - 1].block, last);
    table.live.erase(table.live.begin(), table.live.begin() + static_cast<std::ptrdiff_t>(passed));
  }
}

std::int64_t StateManager::grow(RequestBlocks& request, std::int64_t tokens, bool first_chunk,
                                std::vector<BlockCopy>& copied) {
  const bool none = geometry_.mode == CacheMode::none;
  const std::int64_t last = none ? 0 : ceil_div(tokens, block_) - 1;
  std::int64_t copies = 0;
  for (std::size_t group = 0; group < request.states.size(); ++group) {
    StateTable& table = request.states[group];
    BlockArena& own = pool(group);
    if (request.state_tail_shared) {
      copied.push_back({table.live.back().block, own.take(BlockKind::state),
                        static_cast<std::int64_t>(arenas_[group]), table.live.back().block,
                        static_cast<std::int64_t>(group)});
      table.live.back().block = copied.back().to;
      ++copies;
    }
    const bool had_state = !table.live.empty();
    const std::int64_t running = table.running_index();
    if (last > running && geometry_.mode == CacheMode::align && had_state) ++copies;
    // In mode all every position up to the last gets a state, otherwise only the last one. The oldest speculative
    // block becomes a running state first, new blocks join behind.
    for (std::int64_t index = geometry_.mode == CacheMode::all ? running + 1 : std::max(last, running + 1);
         index <= last; ++index) {
      table.spare.push_back(own.take(BlockKind::state));
      if (first_chunk) {
        table.live.push_back({index, table.spare.back()});
        table.spare.pop_back();
      } else {
        table.live.push_back({index, table.spare.front()});
        table.spare.erase(table.spare.begin());
      }
    }
    if (first_chunk)
      for (std::int64_t i = 0; i < geometry_.draft_states(); ++i)
        table.spare.push_back(own.take(BlockKind::state));
  }
  request.state_tail_shared = false;
  return copies;
}

bool StateManager::retained(std::int64_t tokens, const Retention& retention) const {
  if (!geometry_.retention_interval_tokens) return true;
  const std::int64_t interval = *geometry_.retention_interval_tokens;
  if (interval > 0 && tokens % interval == 0) return true;
  const std::int64_t back = geometry_.scheduler.checkpoint_back + (geometry_.drafter_drops_block ? 1 : 0);
  const std::int64_t last = (retention.prompt_tokens - 1) / checkpoint_step_ * checkpoint_step_;
  return tokens == last - back * checkpoint_step_ || tokens == retention.branch_point;
}

void StateManager::publish_at(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t tokens,
                              std::int64_t step) {
  const PrefixKey key = keys[static_cast<std::size_t>(tokens / unit_ - 1)];
  const std::int64_t index = ceil_div(tokens, block_) - 1;
  for (std::size_t group = 0; group < request.states.size(); ++group)
    for (const StateEntry& entry : request.states[group].live)
      if (entry.index == index && pool(group).key(entry.block) == 0)
        pool(group).publish(entry.block, group_keys_(key, group), step, group == 0);
}

void StateManager::publish(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t tokens,
                           const Retention& retention, std::int64_t step) {
  contract([&] { return geometry_.caches_prefixes(); }, "states are published where prefixes are cached");
  if (request.states.empty()) return;
  const std::int64_t known = static_cast<std::int64_t>(keys.size()) * unit_;
  const std::int64_t full = std::min(tokens, known) / block_;
  if (geometry_.mode == CacheMode::all) {
    for (std::int64_t i = request.published_states; i < full; ++i)
      if (retained((i + 1) * block_, retention)) publish_at(request, keys, (i + 1) * block_, step);
  } else if (tokens % block_ == 0 && tokens <= known && full > request.published_states &&
             retained(tokens, retention)) {
    publish_at(request, keys, tokens, step);
  }
  request.published_states = std::max(request.published_states, full);
  if (tokens == retention.partial_end && tokens % block_ != 0) {
    publish_at(request, keys, tokens, step);
    request.state_tail_shared = true;
  }
}

}  // namespace hybridkv
