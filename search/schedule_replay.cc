#include "search/schedule_replay.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "base/error.h"
#include "simulator/blocks/cache_geometry.h"
#include "simulator/pool/block_arena.h"
#include "simulator/pool/group_keys.h"

namespace hybridkv {

/// What later requests want of one: units of its prompt and lengths, in units, behind which they take its state.
struct ScheduleReplay::Wanted {
  std::vector<std::pair<std::int32_t, std::int32_t>> units;  // [begin, end), ascending
  std::vector<std::int32_t> states;
};

/// Block pools by arena, and what one request holds of them.
class ScheduleReplay::Pools {
 public:
  explicit Pools(const ScheduledPools& layout)
      : layout_(layout), token_keys_(std::ssize(layout.tokens), 1), state_keys_(std::ssize(layout.states), 2) {
    for (std::size_t arena = 0; arena < layout.usable_ids.size(); ++arena) {
      std::int64_t common = 0;
      for (const auto* groups : {&layout.tokens, &layout.states})
        for (const ScheduledPools::Group& group : *groups)
          if (group.arena == static_cast<std::int64_t>(arena)) common = std::gcd(common, group.ids);
      common_.push_back(std::max<std::int64_t>(1, common));
      pools_.emplace_back(1 + std::max<std::int64_t>(1, layout.usable_ids[arena] / common_.back()));
    }
  }

  /// Holds the unit with that key; false, and nothing held, where a group lacks a part of it.
  bool hold_unit(PrefixKey key) { return hold(layout_.tokens, key, token_keys_, held_); }
  bool hold_state(PrefixKey key) { return hold(layout_.states, key, state_keys_, held_state_); }

  /// Takes the rest of what a running request has: units up to `units`, of which the first `found` are held, and ids
  /// without a key. False where an arena has too few.
  bool take_running(std::int64_t tokens, std::int64_t found, std::int64_t units, bool holds_state) {
    std::vector<std::int64_t> left = layout_.running(tokens);
    for (std::size_t arena = 0; arena < left.size(); ++arena) left[arena] = ceil_div(left[arena], common_[arena]);
    for (const ScheduledPools::Group& group : layout_.tokens) left[index(group)] -= found * each(group);
    if (holds_state)
      for (const ScheduledPools::Group& group : layout_.states) left[index(group)] -= each(group);
    for (std::size_t arena = 0; arena < left.size(); ++arena)
      if (!pools_[arena].has_room(std::max<std::int64_t>(0, left[arena]))) return false;
    for (std::size_t group = 0; group < layout_.tokens.size(); ++group)
      for (std::int64_t unit = found; unit < units; ++unit)
        for (std::int64_t i = 0; i < each(layout_.tokens[group]); ++i) take(layout_.tokens[group], left);
    for (std::size_t arena = 0; arena < left.size(); ++arena)
      while (left[arena] > 0) take({static_cast<std::int64_t>(arena), 1}, left);
    return true;
  }

  /// Takes a state beside them and makes it findable; false where there is no room for it.
  bool leave_state(PrefixKey key) {
    for (const ScheduledPools::Group& group : layout_.states)
      if (!pool(group).has_room(each(group) * std::ssize(layout_.states))) return false;
    for (std::size_t group = 0; group < layout_.states.size(); ++group)
      for (std::int64_t i = 0; i < each(layout_.states[group]); ++i) {
        const BlockId block = pool(layout_.states[group]).take(BlockKind::state);
        held_.emplace_back(index(layout_.states[group]), block);
        pool(layout_.states[group]).publish(block, state_key(key, group, i), 0, true);
      }
    return true;
  }

  /// Makes the unit findable, or no longer: `number` counts from the first unit of the prompt, the first `found` were
  /// found.
  void set_findable(std::int64_t number, PrefixKey key, bool findable, std::int64_t found, std::int64_t units) {
    for (std::size_t group = 0; group < layout_.tokens.size(); ++group) {
      const std::int64_t ids = each(layout_.tokens[group]);
      for (std::int64_t i = 0; i < ids; ++i) {
        const BlockId block = unit_block(group, number, i, found, units);
        BlockArena& of = pool(layout_.tokens[group]);
        if (number < found && !findable) of.forget(block);
        if (number >= found && findable) of.publish(block, unit_key(key, group, i), 0, false);
      }
    }
  }
  /// The held state is no longer found. Pre: hold_state.
  void forget_state() {
    for (const auto& [arena, block] : held_state_) pools_[arena].forget(block);
  }

  /// Lets go of all held units but the first ones.
  void keep_units(std::int64_t units) {
    const auto kept = static_cast<std::size_t>(units * ids_of_unit());
    for (std::size_t i = kept; i < held_.size(); ++i) pools_[held_[i].first].release(held_[i].second);
    held_.resize(kept);
  }

  void release() {
    for (const auto& [arena, block] : held_) pools_[arena].release(block);
    for (const auto& [arena, block] : held_state_) pools_[arena].release(block);
    held_.clear();
    held_state_.clear();
  }

 private:
  using Place = std::pair<std::size_t, BlockId>;  // arena and block

  static std::size_t index(const ScheduledPools::Group& group) { return static_cast<std::size_t>(group.arena); }
  BlockArena& pool(const ScheduledPools::Group& group) { return pools_[index(group)]; }
  /// Blocks of the pool that the group takes at a time.
  std::int64_t each(const ScheduledPools::Group& group) const { return group.ids / common_[index(group)]; }
  std::int64_t ids_of_unit() const {
    std::int64_t ids = 0;
    for (const ScheduledPools::Group& group : layout_.tokens) ids += each(group);
    return ids;
  }

  PrefixKey unit_key(PrefixKey key, std::size_t group, std::int64_t i) const {
    return token_keys_(mix64(key, static_cast<std::uint64_t>(i)), group);
  }
  PrefixKey state_key(PrefixKey key, std::size_t group, std::int64_t i) const {
    return state_keys_(mix64(key, static_cast<std::uint64_t>(i)), group);
  }

  bool hold(const std::vector<ScheduledPools::Group>& groups, PrefixKey key, const GroupKeys& keys,
            std::vector<Place>& held) {
    const std::size_t before = held.size();
    for (std::size_t group = 0; group < groups.size(); ++group)
      for (std::int64_t i = 0; i < each(groups[group]); ++i) {
        const BlockId block = pool(groups[group]).find(keys(mix64(key, static_cast<std::uint64_t>(i)), group));
        if (block == null_block_id) {
          for (std::size_t at = before; at < held.size(); ++at) pools_[held[at].first].release(held[at].second);
          held.resize(before);
          return false;
        }
        pool(groups[group]).hold(block);
        held.emplace_back(index(groups[group]), block);
      }
    return true;
  }

  void take(const ScheduledPools::Group& group, std::vector<std::int64_t>& left) {
    held_.emplace_back(index(group), pool(group).take(BlockKind::attention));
    --left[index(group)];
  }

  /// Found units lie one after the other with all their groups, fresh ones group by group.
  BlockId unit_block(std::size_t group, std::int64_t number, std::int64_t i, std::int64_t found,
                     std::int64_t units) const {
    std::int64_t before = 0;
    for (std::size_t earlier = 0; earlier < group; ++earlier) before += each(layout_.tokens[earlier]);
    const std::int64_t ids = each(layout_.tokens[group]);
    const std::int64_t at = number < found ? number * ids_of_unit() + before + i
                                           : found * ids_of_unit() + before * (units - found) +
                                                 (number - found) * ids + i;
    return held_[static_cast<std::size_t>(at)].second;
  }

  const ScheduledPools& layout_;
  GroupKeys token_keys_, state_keys_;
  std::vector<std::int64_t> common_;  // (arena) ids of a block of the pool
  std::vector<BlockArena> pools_;     // (arena)
  std::vector<Place> held_, held_state_;
};

ScheduleReplay::ScheduleReplay(const ReusePaths& paths, const OfflineSchedule& schedule, const ScheduledPools& pools,
                               std::optional<std::int64_t> max_model_len)
    : paths_(paths),
      schedule_(schedule),
      max_model_len_(max_model_len),
      pools_(std::make_unique<Pools>(pools)),
      wanted_(static_cast<std::size_t>(paths.num_requests())) {
  for (std::int64_t request = 0; request < paths.num_requests(); ++request) {
    const std::int32_t units = schedule.units[static_cast<std::size_t>(request)];
    std::int32_t begin = 0;
    for (const ReuseStretch& stretch : paths.stretches(request)) {
      if (begin >= units) break;
      const std::int32_t end = std::min(stretch.end_unit, units);
      Wanted& of = wanted_[static_cast<std::size_t>(stretch.last)];
      of.units.emplace_back(begin, end);
      if (end == units) of.states.push_back(units);
      begin = end;
    }
  }
  for (Wanted& of : wanted_) {
    std::sort(of.units.begin(), of.units.end());
    std::sort(of.states.begin(), of.states.end());
    of.states.erase(std::unique(of.states.begin(), of.states.end()), of.states.end());
  }
}

ScheduleReplay::~ScheduleReplay() = default;

void ScheduleReplay::consume(const TraceBatch& batch) {
  for (const TraceRequest& request : batch.requests) {
    if (refused_for_length(request.input_length, max_model_len_)) continue;
    expects(next_request_ < paths_.num_requests(), "a schedule is replayed over its own trace");
    prefix_keys(batch.prompt(request), paths_.unit_tokens(), keys_);
    run(next_request_++, request.input_length);
  }
}

std::int64_t ScheduleReplay::hold_found(std::int64_t wanted) {
  std::int64_t found = 0;
  while (found < wanted && pools_->hold_unit(keys_[static_cast<std::size_t>(found)])) ++found;
  std::int64_t units = found;
  while (units > 0 && !pools_->hold_state(keys_[static_cast<std::size_t>(units - 1)])) --units;
  pools_->keep_units(units);
  return units;
}

void ScheduleReplay::run(std::int64_t request, std::int64_t tokens) {
  const std::int64_t wanted = schedule_.units[static_cast<std::size_t>(request)];
  const Wanted& left = wanted_[static_cast<std::size_t>(request)];
  const std::int64_t units = std::ssize(keys_), found = hold_found(wanted);
  stats_.missed_requests += found < wanted ? 1 : 0;
  if (!pools_->take_running(tokens, found, units, found > 0)) {
    pools_->release();
    stats_.missed_requests += found == wanted && wanted > 0 ? 1 : 0;
    return;
  }
  stats_.hit_tokens += found * paths_.unit_tokens();
  auto range = left.units.begin();
  for (std::int64_t unit = 0; unit < units; ++unit) {
    while (range != left.units.end() && range->second <= unit) ++range;
    const bool is_wanted = range != left.units.end() && range->first <= unit;
    pools_->set_findable(unit, keys_[static_cast<std::size_t>(unit)], is_wanted, found, units);
  }
  bool keeps_found_state = false;
  for (const std::int32_t length : left.states) {
    if (length == found) keeps_found_state = true;
    else pools_->leave_state(keys_[static_cast<std::size_t>(length - 1)]);
  }
  if (found > 0 && !keeps_found_state) pools_->forget_state();
  pools_->release();
}

}  // namespace hybridkv
