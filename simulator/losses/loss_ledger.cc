#include "simulator/losses/loss_ledger.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "simulator/blocks/block_rules.h"
#include "simulator/blocks/prefix_positions.h"
#include "simulator/slots/slot_replay.h"

namespace hybridkv {

namespace {

PrefixKey key_at(std::span<const PrefixKey> keys, std::int64_t units) {
  return keys[static_cast<std::size_t>(units - 1)];
}

}  // namespace

LossLedger::LossLedger(const CacheGeometry& geometry,
                       std::function<void(const RequestRecord&, const ReuseLoss&)> on_loss)
    : geometry_(geometry),
      on_loss_(std::move(on_loss)),
      unit_(geometry.match_unit()),
      step_(geometry.rules.blocks->hit_step(geometry)),
      ahead_(geometry.rules.blocks->lookahead_tokens(geometry)),
      beyond_limit_(geometry.rules.blocks->looks_beyond_limit(geometry)) {
  const BlockRules& rules = *geometry.rules.blocks;
  for (std::size_t group = 0; std::cmp_less(group, geometry.attention_groups); ++group) {
    drops_.push_back(rules.dropped_tokens(geometry, group));
    rows_.push_back(rules.attention_row(geometry, group));
    is_full_.push_back(!rules.retains_windows() || !geometry.is_windowed(static_cast<std::int64_t>(group)));
  }
}

void LossLedger::watch(Simulation& simulation) {
  scheduler_ = &simulation.scheduler();
  simulation.on_submit = [this](const TraceRequest& request, std::span<const TokenRun> prompt) {
    submitted(request, prompt);
  };
  simulation.after_schedule = [this] {
    for (const auto& request : scheduler_->running())
      if (request->scheduled_tokens > 0) observe(scheduler_->cache(), *request);
  };
  simulation.scheduler().after_look_up = [this](const ActiveRequest& request, const PrefixHit& hit) {
    look_up(scheduler_->cache(), request, hit);
  };
}

void LossLedger::submitted(const TraceRequest& request, std::span<const TokenRun> prompt) {
  if (refused_for_length(request.input_length, geometry_.scheduler.max_model_len)) return;
  Expected& expected = expected_[request.index];
  expected.number = submitted_++;
  expected.prompt.assign(prompt.begin(), prompt.end());
  expected.shared_tokens = announced_.longest(prompt);
  announced_.remember(prompt, request.input_length);
  expected.trail.token_exact_tokens = std::min(expected.shared_tokens, request.input_length - 1);
}

std::int64_t LossLedger::attention_end(std::span<const PrefixKey> keys, std::size_t group, std::int64_t tokens) const {
  const std::int64_t whole = floor_to(tokens, rows_[group]);
  if (geometry_.has_partial_tails())
    for (std::int64_t units = std::min<std::int64_t>(tokens / unit_, std::ssize(keys)); units * unit_ > whole; --units)
      if (tails_.contains(key_at(keys, units))) return units * unit_;
  return whole;
}

std::int64_t LossLedger::whole_tokens(std::span<const PrefixKey> keys, std::int64_t shared) const {
  std::int64_t whole = shared;
  for (std::size_t group = 0; std::cmp_less(group, geometry_.attention_groups); ++group)
    whole = std::min(whole, attention_end(keys, group, shared));
  return floor_to(whole, step_);
}

std::int64_t LossLedger::allowed_tokens(std::span<const PrefixKey> keys, std::int64_t prompt,
                                        std::int64_t shared) const {
  const std::int64_t limit = prompt - 1;
  std::int64_t allowed = std::min(limit, std::max<std::int64_t>(0, shared - ahead_));
  for (std::size_t group = 0; std::cmp_less(group, geometry_.attention_groups); ++group) {
    const std::int64_t drop = drops_[group], seen = beyond_limit_ ? limit + drop : limit;
    const std::int64_t end = attention_end(keys, group, std::min(shared, seen));
    allowed = std::min(allowed, std::max<std::int64_t>(0, end - drop));
  }
  return floor_to(allowed, step_);
}

bool LossLedger::holds_state(const CacheManager& cache, PrefixKey key) const {
  const StateManager& states = cache.states();
  for (std::size_t group = 0; group < states.num_groups(); ++group)
    if (states.pool(group).carries(states.group_keys()(key, group))) return true;
  return false;
}

std::int64_t LossLedger::held_attention(const CacheManager& cache, std::span<const PrefixKey> keys, std::int64_t from,
                                        std::int64_t to) const {
  const AttentionManager& attention = cache.attention();
  const std::int64_t known = std::ssize(keys);
  std::int64_t most = 0;
  for (std::size_t group = 0; group < attention.groups().size(); ++group) {
    if (!is_full_[group]) continue;
    const AttentionManager::Group& own = attention.groups()[group];
    const std::int64_t drop = drops_[group], last = std::min((to + drop) / unit_, known);
    const auto own_key = [&](std::int64_t units) { return attention.group_keys()(key_at(keys, units), group); };
    std::int64_t units = floor_to(from, own.block) / unit_;
    while (units + own.units <= last && own.pool->carries(own_key(units + own.units))) units += own.units;
    if (geometry_.has_partial_tails())
      for (std::int64_t tail = std::min(last, units + own.units - 1); tail > units; --tail)
        if (own.pool->carries(own_key(tail)) || own.pool->carries_tail(own_key(tail))) {
          units = tail;
          break;
        }
    most = std::max(most, units * unit_ - drop);
  }
  return most;
}

void LossLedger::find_windows(const CacheManager& cache, std::span<const PrefixKey> keys,
                              std::vector<Position>& positions) const {
  const AttentionManager& attention = cache.attention();
  bool any_full = false;
  for (std::size_t group = 0; group < attention.groups().size(); ++group) any_full = any_full || is_full_[group];
  for (std::size_t group = 0; group < attention.groups().size(); ++group) {
    if (is_full_[group]) continue;
    const AttentionManager::Group& own = attention.groups()[group];
    const std::int64_t window = ceil_div(geometry_.attention_masks[group].window_tokens - 1, own.block);
    const auto own_key = [&](std::int64_t block) {
      return attention.group_keys()(key_at(keys, (block + 1) * own.units), group);
    };
    std::int64_t kept = 0, next = 0;  // kept blocks in a row before block `next`
    for (Position& position : positions) {
      const std::int64_t end = position.tokens / own.block, needed = std::min(window, end);
      if (end == 0 || end * own.units > std::ssize(keys)) continue;
      if (next < end - needed) kept = 0, next = end - needed;
      for (; next < end; ++next) kept = windows_.contains(own_key(next)) ? kept + 1 : 0;
      if (kept < needed) position.window_kept = false;
      if (!any_full) position.kv_held = position.kv_held || own.pool->carries(own_key(end - 1));
    }
  }
}

void LossLedger::look_up(const CacheManager& cache, const ActiveRequest& request, const PrefixHit& hit) {
  Expected& expected = expected_.at(request.record.index);
  const std::span<const PrefixKey> keys = request.keys;
  const std::int64_t shared = expected.shared_tokens;
  expected.trail.matched_tokens = hit.tokens;
  if (!geometry_.caches_prefixes()) {  // no length is left to resume from, whatever the blocks
    const std::int64_t all = expected.trail.token_exact_tokens;
    expected.trail.whole_tokens = expected.trail.allowed_tokens = all;
    expected.positions.assign(all > 0 ? 1 : 0, {.tokens = all});
    return;
  }
  expected.trail.whole_tokens = whole_tokens(keys, shared);
  expected.trail.allowed_tokens = allowed_tokens(keys, request.record.input_length, shared);
  expected.positions.clear();
  const std::int64_t allowed = expected.trail.allowed_tokens;
  if (allowed <= hit.tokens) return;
  const std::int64_t computed = computed_.longest(expected.prompt);
  std::int64_t in_flight = 0;
  if (allowed > computed)
    for (const auto& running : scheduler_->running())
      if (const Expected& other = expected_.at(running->record.index); other.number < expected.number)
        in_flight = std::max(in_flight, common_tokens(other.prompt, expected.prompt));
  const std::int64_t held = geometry_.attention_groups == 0
                                ? allowed
                                : held_attention(cache, keys, hit.tokens, allowed);
  for (std::int64_t tokens = floor_to(hit.tokens, step_) + step_; tokens <= allowed; tokens += step_) {
    Position& position = expected.positions.emplace_back();
    position = {.tokens = tokens, .computed = tokens <= computed, .in_flight = tokens <= in_flight,
                .kv_held = tokens <= held};
    if (geometry_.state_groups == 0) continue;
    position.key = key_at(keys, tokens / unit_);
    const auto known = states_.find(position.key);
    if (known == states_.end()) continue;
    position.state = known->second.kept_by == nobody       ? StateSeen::made
                     : holds_state(cache, position.key) ? StateSeen::held
                                                        : StateSeen::kept;
  }
  find_windows(cache, keys, expected.positions);
}

void LossLedger::observe(const CacheManager& cache, const ActiveRequest& request) {
  const std::int64_t prompt = request.record.input_length;
  if (request.computed_tokens >= prompt) return;
  const std::int64_t end = request.computed_tokens + request.scheduled_tokens;
  computed_.remember(expected_.at(request.record.index).prompt, std::min(end, prompt));
  if (geometry_.has_partial_tails()) observe_tail(cache, request);
  if (geometry_.has_state_blocks()) observe_states(cache, request, end);
  observe_windows(cache, request, std::min(end, prompt));
}

void LossLedger::observe_tail(const CacheManager& cache, const ActiveRequest& request) {
  const std::int64_t units = std::min(request.blocks.partial_tokens, request.record.input_length) / unit_;
  if (units == 0 || units > std::ssize(request.keys)) return;
  const PrefixKey key = key_at(request.keys, units);
  const AttentionManager& attention = cache.attention();
  for (std::size_t group = 0; group < attention.groups().size(); ++group) {
    const BlockArena& pool = *attention.groups()[group].pool;
    const PrefixKey own = attention.group_keys()(key, group);
    if (pool.carries(own) || pool.carries_tail(own)) tails_.insert(key);
  }
}

void LossLedger::observe_states(const CacheManager& cache, const ActiveRequest& request, std::int64_t end) {
  made(cache, request, end);
  made(cache, request, request.blocks.exported_tokens);
  const std::int64_t block = geometry_.state_block();
  if (geometry_.mode == CacheMode::all)
    for (std::int64_t at = floor_to(request.computed_tokens, block) + block; at < end; at += block)
      made(cache, request, at);
  // The engine also enters blocks under a boundary at which no chunk ended; see StateColumns::publish_boundaries.
  const StateManager& states = cache.states();
  for (const StateEntry& entry : request.blocks.states.front().live) {
    const std::int64_t at = (entry.index + 1) * block;
    if (at > request.record.input_length || at / unit_ > std::ssize(request.keys)) continue;
    const PrefixKey key = key_at(request.keys, at / unit_);
    if (states.pool(0).key(entry.block) == states.group_keys()(key, 0)) made(cache, request, at);
  }
}

void LossLedger::made(const CacheManager& cache, const ActiveRequest& request, std::int64_t tokens) {
  if (tokens == 0 || tokens % unit_ != 0 || tokens > request.record.input_length) return;
  if (tokens / unit_ > std::ssize(request.keys)) return;
  const PrefixKey key = key_at(request.keys, tokens / unit_);
  const std::int64_t number = expected_.at(request.record.index).number;
  StateHistory& history = states_[key];
  history.made_by = std::min(history.made_by, number);
  if (history.kept_by > number && holds_state(cache, key)) history.kept_by = number;
}

void LossLedger::observe_windows(const CacheManager& cache, const ActiveRequest& request, std::int64_t end) {
  const AttentionManager& attention = cache.attention();
  for (std::size_t group = 0; group < attention.groups().size(); ++group) {
    if (is_full_[group]) continue;
    const AttentionManager::Group& own = attention.groups()[group];
    const std::vector<BlockId>& table = request.blocks.attention[group];
    for (std::int64_t i = request.computed_tokens / own.block; i < end / own.block && i < std::ssize(table); ++i)
      if (const PrefixKey key = own.pool->key(table[static_cast<std::size_t>(i)]); key != 0) windows_.insert(key);
  }
}

LossCause LossLedger::cause_of(const Position& position, std::int64_t number) const {
  bool late = false;
  if (geometry_.state_groups > 0) {
    const auto found = states_.find(position.key);
    const StateHistory history = found == states_.end() ? StateHistory{} : found->second;
    if (position.state == StateSeen::none && history.made_by >= number) return LossCause::no_state;
    late = position.state < StateSeen::kept && history.kept_by < number;
    if (position.state < StateSeen::kept && !late) return LossCause::dropped;
    if (!late && position.state != StateSeen::held) return position.window_kept || !position.computed
                                                               ? LossCause::state_evicted
                                                               : LossCause::dropped;
  }
  if (position.computed && !position.window_kept) return LossCause::dropped;
  if (position.computed && !position.kv_held) return LossCause::kv_evicted;
  if (position.computed && !late) return LossCause::other_group;
  return late || position.in_flight ? LossCause::too_late : LossCause::no_memory;
}

void LossLedger::end(const RequestRecord& record) {
  const auto known = expected_.find(record.index);
  ReuseLoss loss;
  if (known != expected_.end()) {
    Expected& expected = known->second;
    expected.trail.ended_ok = record.status == RequestStatus::ok;
    for (const Position& position : expected.positions)
      expected.trail.missed.push_back({position.tokens, cause_of(position, expected.number)});
    loss = book(expected.trail);
    stats_.add(record.index, record.input_length, loss);
    expected_.erase(known);
  }
  if (on_loss_) on_loss_(record, loss);
}

}  // namespace hybridkv
