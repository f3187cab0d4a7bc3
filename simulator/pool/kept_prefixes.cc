#include "simulator/pool/kept_prefixes.h"

#include <algorithm>

#include "base/checked.h"

namespace hybridkv {

namespace {

constexpr std::int64_t ghosts_of_a_block = 8;
constexpr std::int64_t ranks_of_an_end = 16;  // of others that are looked at anew when one ends
constexpr std::size_t unused_share = 10;  // of S3-FIFO: one prefix in ten is in the queue of those never used

}  // namespace

KeptPrefixes::KeptPrefixes(const CacheGeometry& geometry, std::span<const BlockArena> pools,
                           const AttentionManager& attention, const StateManager& states)
    : rank_(geometry.scheduler.eviction),
      policy_(geometry.scheduler.eviction),
      own_(geometry.scheduler.own_policy ? geometry.scheduler.own_policy->make() : nullptr),
      pools_(pools),
      attention_(attention),
      states_(states),
      attention_groups_(static_cast<std::int32_t>(geometry.attention_groups)),
      unit_(geometry.match_unit()),
      state_units_(geometry.state_block() / unit_),
      waiting_(pools.size()),
      most_ghosts_(static_cast<std::size_t>(geometry.total_blocks() * ghosts_of_a_block)) {
  double token_share = 0;  // of the memory, in K and V of a token
  for (std::int64_t group = 0; group < geometry.attention_groups; ++group)
    token_share += 1 / (static_cast<double>(geometry.arena_blocks(geometry.attention_arena(group))) *
                        static_cast<double>(geometry.attention_block(group)));
  // A cache of states alone.
  if (token_share == 0) token_share = 1 / static_cast<double>(geometry.total_blocks());
  for (const BlockArena& one : pools)
    block_tokens_.push_back(1 / (static_cast<double>(one.num_blocks()) * token_share));
}

std::size_t KeptPrefixes::known_row(Place at) {
  const std::size_t where = row(at);
  if (where >= spots_.size()) spots_.resize(where + 1);
  return where;
}

bool KeptPrefixes::is_dead(const Spot& spot) const {
  if (spot.node == nowhere || spot.extra) return true;
  const Node& node = nodes_[static_cast<std::size_t>(spot.node)];
  return is_state(spot) ? !node.kept : !alive(node);
}

// ---- nodes

KeptPrefixes::NodeId KeptPrefixes::find(PrefixKey key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? nowhere : found->second;
}

KeptPrefixes::NodeId KeptPrefixes::node_at(std::span<const PrefixKey> keys, std::int64_t units) {
  std::int64_t known = units;
  NodeId node = nowhere;
  while (known > 0 && (node = find(keys[static_cast<std::size_t>(known - 1)])) == nowhere) --known;
  for (; known < units; ++known) {
    auto fresh = static_cast<NodeId>(nodes_.size());
    if (unused_.empty()) {
      nodes_.emplace_back();
    } else {
      fresh = unused_.back();
      unused_.pop_back();
    }
    const PrefixKey key = keys[static_cast<std::size_t>(known)];
    nodes_[static_cast<std::size_t>(fresh)] = {.key = key, .parent = node, .units = known + 1};
    index_.emplace(key, fresh);
    if (node != nowhere) {
      ++nodes_[static_cast<std::size_t>(node)].children;
      ++nodes_[static_cast<std::size_t>(node)].branches;
    }
    node = fresh;
  }
  return node;
}

void KeptPrefixes::leave_if_empty(NodeId id) {
  while (id != nowhere) {
    Node& node = nodes_[static_cast<std::size_t>(id)];
    if (node.children > 0 || node.blocks >= 0 || node.known) return;
    index_.erase(node.key);
    unused_.push_back(id);
    id = node.parent;
    if (id != nowhere) --nodes_[static_cast<std::size_t>(id)].children;
  }
}

// ---- what happens to blocks

void KeptPrefixes::put(Place at, std::int32_t group, std::span<const PrefixKey> keys, std::int64_t units,
                       const RequestBlocks& request) {
  const NodeId id = node_at(keys, units);
  Node& node = nodes_[static_cast<std::size_t>(id)];
  Spot& spot = spots_[known_row(at)];
  spot = {.node = id, .next = node.blocks, .group = group, .waits = spot.waits};
  for (std::int32_t other = node.blocks; other >= 0; other = spots_[static_cast<std::size_t>(other)].next)
    spot.extra = spot.extra || spots_[static_cast<std::size_t>(other)].group == group;
  node.blocks = static_cast<std::int32_t>(row(at));
  if (!is_state(spot) || spot.extra) return;
  if (++node.states == static_cast<std::int32_t>(states_.num_groups())) keep_first(id, request);
}

void KeptPrefixes::take_off(std::size_t row) {
  Spot& spot = spots_[row];
  const NodeId id = spot.node;
  Node& node = nodes_[static_cast<std::size_t>(id)];
  std::int32_t* link = &node.blocks;
  while (*link != static_cast<std::int32_t>(row)) link = &spots_[static_cast<std::size_t>(*link)].next;
  *link = spot.next;
  bool replaced = spot.extra;
  for (std::int32_t other = node.blocks; other >= 0 && !replaced;
       other = spots_[static_cast<std::size_t>(other)].next)
    if (Spot& copy = spots_[static_cast<std::size_t>(other)]; copy.group == spot.group) {
      copy.extra = false;
      replaced = true;
    }
  const bool loses_state = is_state(spot) && !replaced;
  spot = {.waits = spot.waits};
  if (loses_state) {
    --node.states;
    if (node.kept) end(id);
  }
  leave_if_empty(id);
}

void KeptPrefixes::wait(std::size_t row) {
  if (std::exchange(spots_[row].waits, true)) return;
  const Place at = place(row);
  waiting_[at.arena].push_back(at.block);
}

void KeptPrefixes::freed(std::size_t arena, BlockId block) {
  const std::size_t at = known_row({arena, block});
  if (is_dead(spots_[at])) wait(at);
}

void KeptPrefixes::dropped(std::size_t arena, BlockId block) {
  const std::size_t at = known_row({arena, block});
  if (spots_[at].node != nowhere) take_off(at);
}

void KeptPrefixes::moved(std::size_t arena, BlockId from, BlockId to) {
  const std::size_t old = known_row({arena, from}), fresh = known_row({arena, to});
  if (spots_[old].node == nowhere) return;
  std::int32_t* link = &nodes_[static_cast<std::size_t>(spots_[old].node)].blocks;
  while (*link != static_cast<std::int32_t>(old)) link = &spots_[static_cast<std::size_t>(*link)].next;
  *link = static_cast<std::int32_t>(fresh);
  const bool waits = spots_[fresh].waits;
  spots_[fresh] = spots_[old];
  spots_[fresh].waits = waits;
  spots_[old] = {.waits = spots_[old].waits};
}

// ---- what requests do

void KeptPrefixes::arrive(RequestBlocks& request, std::span<const PrefixKey> keys, std::int64_t hit_tokens,
                          std::int64_t prompt_tokens) {
  rank_.tick();
  NodeId deepest = nowhere;
  std::int64_t turn = 0;
  for (const PrefixKey key : keys) {
    const NodeId id = find(key);
    if (id == nowhere) break;
    const Node& node = nodes_[static_cast<std::size_t>(id)];
    if (!node.known) continue;
    deepest = id;
    turn = std::max(turn, node.turn);
  }
  request.turn = turn + 1;
  request.prompt_tokens = prompt_tokens;
  const NodeId hit = hit_tokens == 0 ? nowhere : find(keys[static_cast<std::size_t>(hit_tokens / unit_ - 1)]);
  // The prefix was chosen to go, but all of its states are still there, so it is kept after all.
  if (hit != nowhere)
    if (const Node& node = nodes_[static_cast<std::size_t>(hit)];
        !node.kept && node.states == static_cast<std::int32_t>(states_.num_groups()))
      keep(hit);
  if (deepest != nowhere) touch(deepest, true);
  if (hit != nowhere && hit != deepest) touch(hit, false);
}

void KeptPrefixes::note(const RequestBlocks& request, std::span<const PrefixKey> keys) {
  for (std::size_t group = 0; group < request.attention.size(); ++group) note_attention(request, keys, group);
  for (std::size_t group = 0; group < request.states.size(); ++group) note_states(request, keys, group);
}

std::int64_t KeptPrefixes::units_of(PrefixKey key, const GroupKeys& groups, std::size_t group,
                                    std::span<const PrefixKey> keys, std::int64_t from, std::int64_t to) {
  for (std::int64_t units = std::min<std::int64_t>(to, std::ssize(keys)); units > from; --units)
    if (groups(keys[static_cast<std::size_t>(units - 1)], group) == key) return units;
  return 0;
}

void KeptPrefixes::note_attention(const RequestBlocks& request, std::span<const PrefixKey> keys, std::size_t group) {
  const AttentionManager::Group& own = attention_.groups()[group];
  const std::vector<BlockId>& table = request.attention[group];
  const auto arena = static_cast<std::size_t>(own.arena);
  // Blocks are published from the front, so all blocks before one that is noted already are noted as well.
  for (std::int64_t i = std::ssize(table) - 1; i >= 0; --i) {
    const BlockId block = table[static_cast<std::size_t>(i)];
    if (block == null_block_id || !own.pool->is_findable(block)) continue;
    if (spots_[known_row({arena, block})].node != nowhere) break;
    const PrefixKey key = own.pool->key(block) != 0 ? own.pool->key(block) : own.pool->tail_key(block);
    const std::int64_t units =
        units_of(key, attention_.group_keys(), group, keys, i * own.units, (i + 1) * own.units);
    if (units > 0) put({arena, block}, static_cast<std::int32_t>(group), keys, units, request);
  }
}

void KeptPrefixes::note_states(const RequestBlocks& request, std::span<const PrefixKey> keys, std::size_t group) {
  const std::vector<StateEntry>& live = request.states[group].live;
  const std::size_t arena = states_.arena(group);
  for (std::int64_t i = std::ssize(live) - 1; i >= 0; --i) {
    const StateEntry& entry = live[static_cast<std::size_t>(i)];
    const PrefixKey key = pools_[arena].key(entry.block);
    if (key == 0) continue;
    if (spots_[known_row({arena, entry.block})].node != nowhere) break;
    // An exported state of 0.33 may lie one column further.
    const std::int64_t units = units_of(key, states_.group_keys(), group, keys, entry.index * state_units_,
                                        (entry.index + 2) * state_units_);
    if (units > 0)
      put({arena, entry.block}, attention_groups_ + static_cast<std::int32_t>(group), keys, units, request);
  }
}

// ---- what is kept

void KeptPrefixes::keep(NodeId id) {
  bool was_alive = alive(nodes_[static_cast<std::size_t>(id)]);
  nodes_[static_cast<std::size_t>(id)].kept = true;
  for (NodeId at = nodes_[static_cast<std::size_t>(id)].parent; at != nowhere && !was_alive;
       at = nodes_[static_cast<std::size_t>(at)].parent) {
    Node& node = nodes_[static_cast<std::size_t>(at)];
    was_alive = alive(node);
    ++node.alive_children;
  }
  join(id);
}

void KeptPrefixes::keep_first(NodeId id, const RequestBlocks& request) {
  Node& node = nodes_[static_cast<std::size_t>(id)];
  if (!node.known) {
    node.made = rank_.now();
    node.turn = request.turn;
    node.prompt_tokens = request.prompt_tokens;
    if (!own_) rank_.waits(facts_of(node));
  }
  node.known = true;
  node.since = rank_.start();
  if (own_ && !own_->keeps(facts_of(node))) return remember(id);
  node.queue = policy_ == EvictionPolicy::second_chance && node.uses == 0 && node.turn == 1 ? 1 : 0;
  keep(id);
  if (own_) return;
  // A shorter prefix that only this path has used is passed: no request will go on from it any more.
  NodeId passed = node.parent;
  while (passed != nowhere && !nodes_[static_cast<std::size_t>(passed)].kept)
    passed = nodes_[static_cast<std::size_t>(passed)].parent;
  if (passed == nowhere) return;
  const Node& before = nodes_[static_cast<std::size_t>(passed)];
  if (before.uses <= 1 && before.branches <= 1) end(passed);
}

void KeptPrefixes::end(NodeId id) {
  part(id);
  nodes_[static_cast<std::size_t>(id)].kept = false;
  remember(id);
  const auto let_go = [&](const Node& node, bool states) {
    for (std::int32_t at = node.blocks; at >= 0; at = spots_[static_cast<std::size_t>(at)].next) {
      const auto where = static_cast<std::size_t>(at);
      const Place block = place(where);
      if (is_state(spots_[where]) == states && pool(block).is_free(block.block)) wait(where);
    }
  };
  let_go(nodes_[static_cast<std::size_t>(id)], true);
  for (NodeId at = id; at != nowhere && !alive(nodes_[static_cast<std::size_t>(at)]);) {
    let_go(nodes_[static_cast<std::size_t>(at)], false);
    at = nodes_[static_cast<std::size_t>(at)].parent;
    if (at != nowhere) --nodes_[static_cast<std::size_t>(at)].alive_children;
  }
}

void KeptPrefixes::remember(NodeId id) {
  nodes_[static_cast<std::size_t>(id)].ghost = ++ghosts_made_;
  ghosts_.emplace_back(id, ghosts_made_);
  if (ghosts_.size() <= most_ghosts_) return;
  const auto [oldest, number] = ghosts_.front();
  ghosts_.pop_front();
  Node& node = nodes_[static_cast<std::size_t>(oldest)];
  if (node.ghost != number || node.kept || oldest == id) return;
  node.known = false;
  node.uses = 0;
  leave_if_empty(oldest);
}

void KeptPrefixes::touch(NodeId id, bool use) {
  Node& node = nodes_[static_cast<std::size_t>(id)];
  if (use) {
    if (!own_) rank_.returned(facts_of(node), rank_.now() - node.made);
    ++node.uses;
    if (own_)
      own_->used(facts_of(node));
    else
      rank_.waits(facts_of(node));
  }
  node.used = true;
  if (!node.kept) return;
  // First come, first gone: a use only earns another round.
  if (policy_ == EvictionPolicy::second_chance) return;
  part(id);
  node.since = rank_.start();
  join(id);
}

void KeptPrefixes::join(NodeId id) {
  Node& node = nodes_[static_cast<std::size_t>(id)];
  node.rank = rank_of(node);
  ranked_[node.queue].emplace(node.rank, id);
}

void KeptPrefixes::part(NodeId id) {
  const Node& node = nodes_[static_cast<std::size_t>(id)];
  ranked_[node.queue].erase({node.rank, id});
}

void KeptPrefixes::rank_anew() {
  ended_since_ranked_ = 0;
  for (auto& queue : ranked_) {
    std::set<std::pair<double, NodeId>> fresh;
    for (const auto& [rank, id] : queue) {
      Node& node = nodes_[static_cast<std::size_t>(id)];
      node.rank = rank_of(node);
      fresh.emplace(node.rank, id);
    }
    queue = std::move(fresh);
  }
}

PrefixFacts KeptPrefixes::facts_of(const Node& node) const {
  double memory = 0;
  const auto add = [&](const Node& of, bool states) {
    for (std::int32_t at = of.blocks; at >= 0; at = spots_[static_cast<std::size_t>(at)].next)
      if (is_state(spots_[static_cast<std::size_t>(at)]) == states)
        memory += block_tokens_[place(static_cast<std::size_t>(at)).arena];
  };
  add(node, true);
  const Node* at = &node;
  if (at->alive_children == 0) add(*at, false);
  std::int64_t before = 0;  // match units of the next shorter kept prefix
  for (bool own = at->alive_children == 0; at->parent != nowhere;) {
    at = &nodes_[static_cast<std::size_t>(at->parent)];
    if (at->kept) {
      before = at->units;
      break;
    }
    own = own && at->alive_children == 1;
    if (own) add(*at, false);
  }
  return {.tokens = node.units * unit_,
          .saved_tokens = (node.units - before) * unit_,
          .memory_tokens = memory,
          .uses = node.uses,
          .turn = node.turn,
          .since = node.since,
          .id = static_cast<std::int64_t>(&node - nodes_.data()),
          .now = rank_.now(),
          .made = node.made,
          .branches = node.branches,
          .longer = node.alive_children,
          .prompt_tokens = node.prompt_tokens};
}

// ---- what goes

bool KeptPrefixes::is_held(const Node& node) const {
  for (std::int32_t at = node.blocks; at >= 0; at = spots_[static_cast<std::size_t>(at)].next) {
    const Place block = place(static_cast<std::size_t>(at));
    if (is_state(spots_[static_cast<std::size_t>(at)]) && !pool(block).is_free(block.block)) return true;
  }
  return false;
}

KeptPrefixes::NodeId KeptPrefixes::weakest(std::size_t queue) {
  for (auto at = ranked_[queue].begin(); at != ranked_[queue].end();) {
    const NodeId id = at->second;
    Node& node = nodes_[static_cast<std::size_t>(id)];
    ++at;
    if (is_held(node)) continue;
    const bool spared = policy_ == EvictionPolicy::second_chance && std::exchange(node.used, false);
    // Its neighbours may have changed, or what is known of its kind. A policy of one's own is asked once for a choice,
    // as its ranks may rise for ever.
    const double before = node.rank;
    if (own_ && std::exchange(node.looked_at, choices_) == choices_) return id;
    if (!spared && rank_of(node) <= before) return id;
    part(id);
    if (spared) {
      node.since = rank_.start();
      node.queue = 0;
    }
    join(id);
    at = ranked_[queue].begin();
  }
  return nowhere;
}

bool KeptPrefixes::end_weakest() {
  ++choices_;
  if (!own_ && ++ended_since_ranked_ * ranks_of_an_end > num_kept()) rank_anew();
  const bool unused_first = ranked_[1].size() * unused_share >= static_cast<std::size_t>(num_kept());
  NodeId id = weakest(unused_first ? 1 : 0);
  if (id == nowhere) id = weakest(unused_first ? 0 : 1);
  if (id == nowhere) return false;
  rank_.went(nodes_[static_cast<std::size_t>(id)].rank);
  if (own_) own_->went(facts_of(nodes_[static_cast<std::size_t>(id)]));
  end(id);
  return true;
}

BlockId KeptPrefixes::choose(std::size_t arena) {
  std::deque<BlockId>& waiting = waiting_[arena];
  while (true) {
    while (!waiting.empty()) {
      const BlockId block = waiting.front();
      waiting.pop_front();
      Spot& spot = spots_[known_row({arena, block})];
      spot.waits = false;
      if (pools_[arena].is_free(block) && pools_[arena].is_findable(block) && is_dead(spot)) return block;
    }
    if (!end_weakest()) return null_block_id;
  }
}

}  // namespace hybridkv
