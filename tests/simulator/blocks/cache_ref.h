#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "simulator/blocks/cache_geometry.h"

namespace hybridkv::testing {

/// The cache once more, slow and straight from vLLM KVCacheManager and Scheduler: prefixes are compared token by token,
/// queues are lists, block tables are kept with their null entries, lengths that may be found and chunk ends come from
/// walking over the tokens. Every group has its own block and arena.
class CacheRef {
 public:
  using Tokens = std::vector<std::uint64_t>;  // content of a prompt, one number a token

  struct Request {
    Tokens tokens;
    std::int64_t prompt = 0;  // n
    std::vector<std::vector<int>> attention, states;  // (group, table position), 0 = null; states without spares
    std::vector<std::vector<int>> spare;              // (group)
    std::vector<int> extras;
    std::int64_t hit = 0, branch = 0;
    std::vector<bool> attention_shared;               // (group) the last block is copied before it is written
    bool state_shared = false, partial_done = false;
  };

  explicit CacheRef(const CacheGeometry& geometry) : g(geometry), arenas(1 + geometry.more_arenas.size()) {
    for (int arena = 0; arena < std::ssize(arenas); ++arena) {
      const std::int64_t count = arena == 0 ? g.num_blocks : g.more_arenas[arena - 1];
      arenas[arena].blocks.resize(count);
      for (int i = 1; i < count; ++i) arenas[arena].queue.push_back(i);
    }
  }

  // Joint hit and u.
  std::pair<std::int64_t, std::int64_t> look_up(const Request& r) const {
    if (!g.caches_prefixes()) return {0, 0};
    std::int64_t attention = matched(r);
    if (g.drafter_drops_block && attention > 0)
      do --attention;
      while (attention > 0 && !attention_may_end(attention));
    if (g.state_groups == 0) return {attention, 0};
    std::int64_t joint = 0;
    for (std::int64_t t = 1; t <= attention; ++t) {
      const bool resumable = partial_tails() ? t % g.match_unit() == 0 : is_checkpoint(t);
      if (resumable && all_states(r, t)) joint = t;
    }
    return {joint, attention - joint};
  }

  /// Tokens of the next chunk of a prompt that is computed or found up to `start`; 0 = wait. `u` is that of the
  /// look-up just made, 0 later on. Source: vLLM Scheduler, mode align.
  std::int64_t next_chunk(const Request& r, std::int64_t start, std::int64_t u, std::int64_t budget) const {
    const std::int64_t limit = g.scheduler.long_prefill_threshold > 0 ? g.scheduler.long_prefill_threshold : budget;
    const bool align = g.mode == CacheMode::align && g.state_groups > 0;
    std::int64_t resting = start;  // the furthest token behind which the chunk may end
    for (std::int64_t t = start + 1; t <= r.prompt && t - start <= budget && t - start <= limit; ++t) {
      const bool state_wanted = (align && t == last_whole(r)) || t == partial_state(r) || t == branch_of(start, u);
      if (!align || t > last_whole(r) || is_checkpoint(t) || state_wanted) resting = t;
      if (state_wanted) break;
    }
    return resting - start;
  }

  bool admit(Request& r, std::int64_t chunk, bool keep_watermark) {
    const auto [hit, u] = look_up(r);
    const std::int64_t match = matched(r), s = state_block();
    std::vector<std::vector<int>> attention(g.attention_groups), states(g.state_groups);
    std::vector<std::int64_t> need(arenas.size());
    for (int group = 0; group < g.attention_groups; ++group) {
      const std::int64_t b = block_of(group);
      for (std::int64_t t = b; t < hit + b; t += b) {
        // Where the match ended within the block it was found under the key of its tail.
        attention[group].push_back(*find(r, std::min(t, match), group, false));
        need[arena_of(group, false)] += block(attention[group].back(), group, false).references == 0;
      }
      need[arena_of(group, false)] += ceil_div(r.prompt, b) - hit / b;
    }
    const std::int64_t last = ceil_div(r.prompt, s) - 1;
    std::int64_t new_states = 1;
    if (g.mode == CacheMode::all) new_states = last + 1 - hit / s;
    if (g.mode == CacheMode::align && hit % s != 0 && last > hit / s) new_states = 2;
    for (int group = 0; group < g.state_groups; ++group) {
      need[arena_of(group, true)] += new_states + g.speculative_tokens;
      if (hit == 0) continue;
      const int state = *find(r, hit, group, true);
      if (block(state, group, true).step == step) return false;
      states[group].assign(ceil_div(hit, s), 0);
      states[group].back() = state;
      need[arena_of(group, true)] += block(state, group, true).references == 0;
    }
    need[0] += g.extra_blocks_per_request;
    if (keep_watermark)
      for (std::size_t arena = 0; arena < arenas.size(); ++arena)
        need[arena] +=
            static_cast<std::int64_t>(g.scheduler.watermark * static_cast<double>(arenas[arena].blocks.size()));
    if (!fits(need)) return false;
    r.attention = attention, r.states = states, r.hit = hit;
    r.spare.assign(g.state_groups, {});
    for (const bool state : {false, true})
      for (int group = 0; group < std::ssize(state ? r.states : r.attention); ++group)
        for (int id : (state ? r.states : r.attention)[group])
          if (id != 0) hold(id, arena_of(group, state));
    r.attention_shared.assign(g.attention_groups, false);
    for (int group = 0; group < g.attention_groups; ++group) r.attention_shared[group] = hit % block_of(group) != 0;
    r.state_shared = hit % s != 0;
    r.branch = branch_of(hit, u);
    grow(r, hit, hit + chunk, true);
    return true;
  }

  bool advance(Request& r, std::int64_t computed, std::int64_t chunk) {
    const std::int64_t s = state_block();
    if (g.mode != CacheMode::none)
      for (int group = 0; group < g.state_groups; ++group)
        for (std::int64_t i = (computed - 1) / s - 1; i >= 0; --i)
          if (r.states[group][i] != 0) release(std::exchange(r.states[group][i], 0), arena_of(group, true));
    std::vector<std::int64_t> need(arenas.size());
    for (int group = 0; group < g.attention_groups; ++group)
      need[arena_of(group, false)] += ceil_div(computed + chunk, block_of(group)) - std::ssize(r.attention[group]) +
                                      r.attention_shared[group];
    for (int group = 0; group < g.state_groups; ++group) {
      std::int64_t crossings = ceil_div(computed + chunk, s) - std::ssize(r.states[group]);
      if (g.mode == CacheMode::none) crossings = 0;
      if (g.mode == CacheMode::align && crossings > 1) crossings = 1;
      need[arena_of(group, true)] += crossings + r.state_shared;
    }
    if (!fits(need)) return false;
    grow(r, computed, computed + chunk, false);
    return true;
  }

  void free(Request& r) {
    for (int group = 0; group < std::ssize(r.attention); ++group)
      for (auto at = r.attention[group].rbegin(); at != r.attention[group].rend(); ++at)
        release(*at, arena_of(group, false));
    for (int group = 0; group < std::ssize(r.states); ++group) {
      const int arena = arena_of(group, true);
      for (auto at = r.spare[group].rbegin(); at != r.spare[group].rend(); ++at) release(*at, arena);
      for (auto at = r.states[group].rbegin(); at != r.states[group].rend(); ++at)
        if (*at != 0) release(*at, arena);
    }
    for (auto at = r.extras.rbegin(); at != r.extras.rend(); ++at) release(*at, 0);
    r = {.tokens = r.tokens, .prompt = r.prompt};
  }

  void begin_step() { ++step; }
  void end_step() {
    for (const auto& [id, arena] : copied) release(id, arena);
    copied.clear();
  }

  std::int64_t num_free(std::size_t arena) const { return std::ssize(arenas[arena].queue); }

  const CacheGeometry g;
  std::int64_t evictions = 0;

 private:
  struct Key {
    bool state = false;
    int group = 0;
    Tokens prefix;
    auto operator<=>(const Key&) const = default;
  };
  struct Block {
    int references = 0;
    std::int64_t step = 0;
    std::optional<Key> key;
  };
  struct Arena {
    std::vector<Block> blocks;
    std::list<int> queue;
    std::map<Key, std::list<int>> index;
  };

  // The rules of the geometry once more, each written out by itself.
  std::int64_t block_of(int group) const {
    return g.attention_block_sizes.empty() ? g.block_size_tokens : g.attention_block_sizes[group];
  }
  std::int64_t state_block() const {
    return g.state_block_size_tokens ? *g.state_block_size_tokens : g.block_size_tokens;
  }
  int arena_of(int group, bool state) const {
    const auto& arenas_of = state ? g.state_arenas : g.attention_arenas;
    return arenas_of.empty() ? 0 : static_cast<int>(arenas_of[group]);
  }
  bool partial_tails() const {
    if (!g.match_unit_tokens) return false;
    bool whole = g.state_groups == 0 || state_block() == *g.match_unit_tokens;
    for (int group = 0; group < g.attention_groups; ++group) whole = whole && block_of(group) == *g.match_unit_tokens;
    return !whole;
  }
  bool all_blocks_end(std::int64_t t) const {
    bool end = true;
    for (int group = 0; group < g.attention_groups; ++group) end = end && t % block_of(group) == 0;
    return end;
  }
  bool attention_may_end(std::int64_t t) const {
    return partial_tails() ? t % g.match_unit() == 0 : all_blocks_end(t);
  }
  // Is a state at t tokens one that chunks are cut for?
  bool is_checkpoint(std::int64_t t) const { return t % state_block() == 0 && (partial_tails() || all_blocks_end(t)); }
  // The last such state at or before t, and the one before that; 0 = none.
  std::int64_t checkpoint_before(std::int64_t t) const {
    while (t > 0 && !is_checkpoint(t)) --t;
    return std::max<std::int64_t>(t, 0);
  }

  // Tokens that attention matches, before a drafter drops any.
  std::int64_t matched(const Request& r) const {
    if (!g.caches_prefixes()) return 0;
    std::vector<std::int64_t> whole(g.attention_groups);  // tokens whose full blocks the group holds
    for (int group = 0; group < g.attention_groups; ++group)
      while (whole[group] + block_of(group) <= r.prompt - 1 && find(r, whole[group] + block_of(group), group, false))
        whole[group] += block_of(group);
    std::int64_t longest = 0;
    for (std::int64_t t = 1; t <= r.prompt - 1; ++t) {
      bool held = attention_may_end(t);
      for (int group = 0; held && group < g.attention_groups; ++group)
        held = t - t % block_of(group) <= whole[group] && (t % block_of(group) == 0 || find(r, t, group, false));
      if (held) longest = t;
    }
    return longest;
  }
  // Where the last state of the prompt is kept: the last checkpoint, with a drafter the one before.
  std::int64_t last_whole(const Request& r) const {
    const std::int64_t last = checkpoint_before(r.prompt);
    return g.drafter_drops_block ? checkpoint_before(last - 1) : last;
  }
  // Where the one state within a block is kept: behind the last whole match unit, with a drafter the one before.
  std::int64_t partial_state(const Request& r) const {
    if (!partial_tails() || g.state_groups == 0 || g.mode == CacheMode::none) return 0;
    std::int64_t units = 0;
    while ((units + 1) * g.match_unit() <= r.prompt) ++units;
    if (g.drafter_drops_block && units > 0) --units;
    return units * g.match_unit();
  }
  // The last checkpoint up to which attention alone matched, where that is the distance of two or more behind the hit.
  std::int64_t branch_of(std::int64_t hit, std::int64_t u) const {
    if (!g.scheduler.branch_point || g.mode != CacheMode::align || g.state_groups == 0) return 0;
    std::int64_t distance = 1;
    while (!is_checkpoint(distance)) ++distance;
    return u < distance ? 0 : checkpoint_before(hit + u);
  }
  Key key_of(const Request& r, std::int64_t t, int group, bool state) const {
    return {state, group, Tokens(r.tokens.begin(), r.tokens.begin() + t)};
  }
  std::optional<int> find(const Request& r, std::int64_t t, int group, bool state) const {
    const Arena& arena = arenas[arena_of(group, state)];
    const auto at = arena.index.find(key_of(r, t, group, state));
    if (at == arena.index.end()) return std::nullopt;
    return at->second.front();
  }
  bool all_states(const Request& r, std::int64_t t) const {
    for (int group = 0; group < g.state_groups; ++group)
      if (!find(r, t, group, true)) return false;
    return true;
  }
  const Block& block(int id, int group, bool state) const { return arenas[arena_of(group, state)].blocks[id]; }
  bool fits(const std::vector<std::int64_t>& need) const {
    for (std::size_t arena = 0; arena < arenas.size(); ++arena)
      if (need[arena] > std::ssize(arenas[arena].queue)) return false;
    return true;
  }
  void hold(int id, int arena) {
    if (arenas[arena].blocks[id].references++ == 0) arenas[arena].queue.remove(id);
  }
  int take(int from) {
    Arena& arena = arenas[from];
    const int id = arena.queue.front();
    arena.queue.pop_front();
    if (arena.blocks[id].key) {
      auto at = arena.index.find(*arena.blocks[id].key);
      at->second.remove(id);
      if (at->second.empty()) arena.index.erase(at);
      ++evictions;
    }
    arena.blocks[id] = {.references = 1};
    return id;
  }
  void release(int id, int from) {
    Arena& arena = arenas[from];
    if (--arena.blocks[id].references > 0) return;
    arena.blocks[id].key ? arena.queue.push_back(id) : arena.queue.push_front(id);
  }
  void publish(int id, const Key& key) {
    Arena& arena = arenas[arena_of(key.group, key.state)];
    if (id == 0 || arena.blocks[id].key) return;
    arena.blocks[id].key = key;
    arena.blocks[id].step = step;
    arena.index[key].push_back(id);
  }

  void grow(Request& r, std::int64_t start, std::int64_t end, bool first) {
    for (int group = 0; group < g.attention_groups; ++group) {
      auto& table = r.attention[group];
      const int arena = arena_of(group, false);
      if (r.attention_shared[group]) {
        copied.emplace_back(table.back(), arena);
        table.back() = take(arena);
      }
      while (std::ssize(table) < ceil_div(end, block_of(group))) table.push_back(take(arena));
      r.attention_shared[group] = false;
    }
    for (int group = 0; group < g.state_groups; ++group) grow_states(r, group, end, first);
    for (int i = 0; first && i < g.extra_blocks_per_request; ++i) r.extras.push_back(take(0));
    r.state_shared = false;
    if (g.caches_prefixes()) publish_all(r, start, end);
  }

  void grow_states(Request& r, int group, std::int64_t end, bool first) {
    auto& table = r.states[group];
    auto& spare = r.spare[group];
    const int arena = arena_of(group, true);
    if (r.state_shared) {
      copied.emplace_back(table.back(), arena);
      table.back() = take(arena);
    }
    const std::int64_t length = g.mode == CacheMode::none ? 1 : ceil_div(end, state_block());
    while (std::ssize(table) < length) {
      if (g.mode == CacheMode::align && std::ssize(table) + 1 < length) {
        table.push_back(0);
        continue;
      }
      spare.push_back(take(arena));
      table.push_back(spare.front());
      spare.erase(spare.begin());
    }
    for (int i = 0; first && i < g.speculative_tokens; ++i) spare.push_back(take(arena));
  }

  bool kept(const Request& r, std::int64_t t) const {
    if (!g.retention_interval_tokens) return true;
    const std::int64_t interval = *g.retention_interval_tokens;
    const std::int64_t last = checkpoint_before(r.prompt - 1);
    return (interval > 0 && t % interval == 0) || t == (g.drafter_drops_block ? checkpoint_before(last - 1) : last) ||
           t == r.branch;
  }

  void publish_all(Request& r, std::int64_t start, std::int64_t end) {
    const std::int64_t tail = partial_tails() ? r.prompt / g.match_unit() * g.match_unit() : 0;
    const bool reached = !r.partial_done && tail > r.hit && tail <= end;
    for (int group = 0; group < g.attention_groups; ++group) {
      const std::int64_t b = block_of(group);
      for (std::int64_t t = b; t <= end; t += b) publish(r.attention[group][t / b - 1], key_of(r, t, group, false));
      if (!reached || tail % b == 0 || tail / b != end / b) continue;
      publish(r.attention[group][tail / b], key_of(r, tail, group, false));
      r.attention_shared[group] = true;
    }
    r.partial_done = r.partial_done || reached;
    const std::int64_t state_tail = tail - (g.drafter_drops_block ? g.match_unit() : 0), s = state_block();
    for (int group = 0; group < g.state_groups; ++group) {
      auto& table = r.states[group];
      for (std::int64_t t = start / s * s + s; t <= end; t += s)
        if ((g.mode == CacheMode::all || t == end) && kept(r, t)) publish(table[t / s - 1], key_of(r, t, group, true));
      if (end == state_tail && end % s != 0) {
        publish(table.back(), key_of(r, end, group, true));
        r.state_shared = true;
      }
    }
  }

  std::vector<Arena> arenas;
  std::vector<std::pair<int, int>> copied;  // id, arena
  std::int64_t step = 0;
};

}  // namespace hybridkv::testing
