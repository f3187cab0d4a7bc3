#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "layout/checked.h"
#include "simulator/cache_geometry.h"

namespace hybridkv::testing {

/// The cache once more, slow and straight from vLLM KVCacheManager and Scheduler: prefixes are compared token by token,
/// the queue is a list, block tables are kept with their null entries, chunk ends are found by walking over the tokens.
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
    bool attention_shared = false, state_shared = false, partial_done = false;
  };

  explicit CacheRef(const CacheGeometry& geometry) : g(geometry), blocks(geometry.num_blocks) {
    for (int i = 1; i < geometry.num_blocks; ++i) queue.push_back(i);
  }

  // Joint hit and u.
  std::pair<std::int64_t, std::int64_t> look_up(const Request& r) {
    if (!g.caches_prefixes()) return {0, 0};
    std::int64_t attention = 0;
    while (attention + g.block_size_tokens <= r.prompt - 1 && in_all(r, attention + g.block_size_tokens, false))
      attention += g.block_size_tokens;
    const std::int64_t full = attention;
    for (std::int64_t t = full + g.match_unit(); t < full + g.block_size_tokens && t <= r.prompt - 1;
         t += g.match_unit())
      if (in_all(r, t, false)) attention = t;
    if (g.drafter_drops_block && attention > 0) attention -= g.match_unit();
    if (g.state_groups == 0) return {attention, 0};
    std::int64_t joint = 0;
    for (std::int64_t t = g.match_unit(); t <= attention; t += g.match_unit())
      if (in_all(r, t, true)) joint = t;
    return {joint, attention - joint};
  }

  /// Tokens of the next chunk of a prompt that is computed or found up to `start`; 0 = wait. `u` is that of the
  /// look-up just made, 0 later on. Source: vLLM Scheduler, mode align.
  std::int64_t next_chunk(const Request& r, std::int64_t start, std::int64_t u, std::int64_t budget) const {
    const std::int64_t limit = g.long_prefill_threshold > 0 ? g.long_prefill_threshold : budget;
    const std::int64_t b = g.block_size_tokens;
    const bool align = g.mode == CacheMode::align && g.state_groups > 0;
    std::int64_t resting = start;  // the furthest token behind which the chunk may end
    for (std::int64_t t = start + 1; t <= r.prompt && t - start <= budget && t - start <= limit; ++t) {
      const bool state_wanted = (align && t == last_whole(r)) || t == partial_state(r) || t == branch_of(start, u);
      if (!align || t > last_whole(r) || t % b == 0 || state_wanted) resting = t;
      if (state_wanted) break;
    }
    return resting - start;
  }

  bool admit(Request& r, std::int64_t chunk, std::int64_t reserve) {
    const auto [hit, u] = look_up(r);
    const std::int64_t b = g.block_size_tokens;
    std::vector<std::vector<int>> attention(g.attention_groups), states(g.state_groups);
    std::int64_t queued = 0;
    for (int group = 0; group < g.attention_groups; ++group)
      for (std::int64_t t = b; t < hit + b; t += b) {
        attention[group].push_back(*find(r, covering(r, t, hit), group, false));
        queued += blocks[attention[group].back()].references == 0;
      }
    for (int group = 0; group < g.state_groups && hit > 0; ++group) {
      const int state = *find(r, hit, group, true);
      if (blocks[state].step == step) return false;
      states[group].assign(ceil_div(hit, b), 0);
      states[group].back() = state;
      queued += blocks[state].references == 0;
    }
    const std::int64_t last = ceil_div(r.prompt, b) - 1;
    const std::int64_t whole_blocks = last + 1 - hit / b;
    std::int64_t new_states = 1;
    if (g.mode == CacheMode::all) new_states = whole_blocks;
    if (g.mode == CacheMode::align && hit % b != 0 && last > hit / b) new_states = 2;
    const std::int64_t need = g.attention_groups * whole_blocks + g.state_groups * (new_states + g.speculative_tokens) +
                              g.extra_blocks_per_request + queued + reserve;
    if (need > std::ssize(queue)) return false;
    r.attention = attention, r.states = states, r.hit = hit;
    r.spare.assign(g.state_groups, {});
    for (auto* tables : {&r.attention, &r.states})
      for (const auto& table : *tables)
        for (int block : table)
          if (block != 0) hold(block);
    r.attention_shared = r.state_shared = hit % b != 0;
    r.branch = branch_of(hit, u);
    grow(r, hit, hit + chunk, true);
    return true;
  }

  bool advance(Request& r, std::int64_t computed, std::int64_t chunk) {
    const std::int64_t b = g.block_size_tokens;
    if (g.mode != CacheMode::none)
      for (auto& table : r.states)
        for (std::int64_t i = (computed - 1) / b - 1; i >= 0; --i)
          if (table[i] != 0) release(std::exchange(table[i], 0));
    std::int64_t need = 0;
    for (const auto& table : r.attention)
      need += ceil_div(computed + chunk, b) - std::ssize(table) + r.attention_shared;
    for (const auto& table : r.states) {
      std::int64_t crossings = g.mode == CacheMode::none ? 0 : ceil_div(computed + chunk, b) - std::ssize(table);
      if (g.mode == CacheMode::align && crossings > 1) crossings = 1;
      need += crossings + r.state_shared;
    }
    if (need > std::ssize(queue)) return false;
    grow(r, computed, computed + chunk, false);
    return true;
  }

  void free(Request& r) {
    for (auto& table : r.attention)
      for (auto at = table.rbegin(); at != table.rend(); ++at) release(*at);
    for (int group = 0; group < g.state_groups && !r.states.empty(); ++group) {
      for (auto at = r.spare[group].rbegin(); at != r.spare[group].rend(); ++at) release(*at);
      for (auto at = r.states[group].rbegin(); at != r.states[group].rend(); ++at)
        if (*at != 0) release(*at);
    }
    for (auto at = r.extras.rbegin(); at != r.extras.rend(); ++at) release(*at);
    r = {.tokens = r.tokens, .prompt = r.prompt};
  }

  void begin_step() { ++step; }
  void end_step() {
    for (int block : copied) release(block);
    copied.clear();
  }

  const CacheGeometry g;
  std::list<int> queue;
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

  // Where the last state of the prompt is kept: behind its last whole block, with a drafter behind the one before.
  std::int64_t last_whole(const Request& r) const {
    std::int64_t blocks_of_prompt = 0;
    while ((blocks_of_prompt + 1) * g.block_size_tokens <= r.prompt) ++blocks_of_prompt;
    if (g.drafter_drops_block && blocks_of_prompt > 0) --blocks_of_prompt;
    return blocks_of_prompt * g.block_size_tokens;
  }
  // Where the one state within a block is kept: behind the last whole match unit, with a drafter the one before.
  std::int64_t partial_state(const Request& r) const {
    if (g.match_unit() == g.block_size_tokens || g.state_groups == 0 || g.mode == CacheMode::none) return 0;
    std::int64_t units = 0;
    while ((units + 1) * g.match_unit() <= r.prompt) ++units;
    if (g.drafter_drops_block && units > 0) --units;
    return units * g.match_unit();
  }
  // The last block boundary up to which attention alone matched, where that is a block or more behind the hit.
  std::int64_t branch_of(std::int64_t hit, std::int64_t u) const {
    if (!g.branch_point || g.mode != CacheMode::align || g.state_groups == 0 || u < g.block_size_tokens) return 0;
    std::int64_t branch = hit + u;
    while (branch % g.block_size_tokens != 0) --branch;
    return branch;
  }
  Key key_of(const Request& r, std::int64_t t, int group, bool state) const {
    return {state, group, Tokens(r.tokens.begin(), r.tokens.begin() + t)};
  }
  std::optional<int> find(const Request& r, std::int64_t t, int group, bool state) const {
    const auto at = index.find(key_of(r, t, group, state));
    if (at == index.end()) return std::nullopt;
    return at->second.front();
  }
  bool in_all(const Request& r, std::int64_t t, bool state) const {
    for (int group = 0; group < (state ? g.state_groups : g.attention_groups); ++group)
      if (!find(r, t, group, state)) return false;
    return true;
  }
  // The prefix under which the attention block of tokens t-B .. t was found: a full block, or a partial tail, which
  // reaches past the hit where a drafter or the states shortened it.
  std::int64_t covering(const Request& r, std::int64_t t, std::int64_t hit) const {
    if (t <= r.prompt - 1 && in_all(r, t, false)) return t;
    std::int64_t longest = hit;
    for (std::int64_t end = t - g.block_size_tokens + g.match_unit(); end < t && end <= r.prompt - 1;
         end += g.match_unit())
      if (in_all(r, end, false)) longest = end;
    return longest;
  }
  void hold(int block) {
    if (blocks[block].references++ == 0) queue.remove(block);
  }
  int take() {
    const int block = queue.front();
    queue.pop_front();
    if (blocks[block].key) {
      auto at = index.find(*blocks[block].key);
      at->second.remove(block);
      if (at->second.empty()) index.erase(at);
      ++evictions;
    }
    blocks[block] = {.references = 1};
    return block;
  }
  void release(int block) {
    if (--blocks[block].references > 0) return;
    blocks[block].key ? queue.push_back(block) : queue.push_front(block);
  }
  void publish(int block, const Key& key) {
    if (block == 0 || blocks[block].key) return;
    blocks[block].key = key;
    blocks[block].step = step;
    index[key].push_back(block);
  }

  void grow(Request& r, std::int64_t start, std::int64_t end, bool first) {
    const std::int64_t b = g.block_size_tokens;
    for (auto& table : r.attention) {
      if (r.attention_shared) {
        copied.push_back(table.back());
        table.back() = take();
      }
      while (std::ssize(table) < ceil_div(end, b)) table.push_back(take());
    }
    for (int group = 0; group < g.state_groups; ++group) grow_states(r, group, end, first);
    for (int i = 0; first && i < g.extra_blocks_per_request; ++i) r.extras.push_back(take());
    r.attention_shared = r.state_shared = false;
    if (g.caches_prefixes()) publish_all(r, start, end);
  }

  void grow_states(Request& r, int group, std::int64_t end, bool first) {
    auto& table = r.states[group];
    auto& spare = r.spare[group];
    if (r.state_shared) {
      copied.push_back(table.back());
      table.back() = take();
    }
    const std::int64_t length = g.mode == CacheMode::none ? 1 : ceil_div(end, g.block_size_tokens);
    while (std::ssize(table) < length) {
      if (g.mode == CacheMode::align && std::ssize(table) + 1 < length) {
        table.push_back(0);
        continue;
      }
      spare.push_back(take());
      table.push_back(spare.front());
      spare.erase(spare.begin());
    }
    for (int i = 0; first && i < g.speculative_tokens; ++i) spare.push_back(take());
  }

  bool kept(const Request& r, std::int64_t t) const {
    if (!g.retention_interval_tokens) return true;
    const std::int64_t interval = *g.retention_interval_tokens;
    const std::int64_t last = (r.prompt - 1) / g.block_size_tokens - (g.drafter_drops_block ? 1 : 0);
    return (interval > 0 && t % interval == 0) || t == last * g.block_size_tokens || t == r.branch;
  }

  void publish_all(Request& r, std::int64_t start, std::int64_t end) {
    const std::int64_t b = g.block_size_tokens;
    const std::int64_t tail = g.match_unit() == b ? 0 : r.prompt / g.match_unit() * g.match_unit();
    const bool partial = !r.partial_done && tail % b != 0 && tail > r.hit && tail <= end && tail / b == end / b;
    for (int group = 0; group < g.attention_groups; ++group) {
      for (std::int64_t t = b; t <= end; t += b) publish(r.attention[group][t / b - 1], key_of(r, t, group, false));
      if (partial) publish(r.attention[group][tail / b], key_of(r, tail, group, false));
    }
    if (partial) r.partial_done = r.attention_shared = true;
    const std::int64_t state_tail = tail - (g.drafter_drops_block ? g.match_unit() : 0);
    for (int group = 0; group < g.state_groups; ++group) {
      auto& table = r.states[group];
      for (std::int64_t t = start / b * b + b; t <= end; t += b)
        if ((g.mode == CacheMode::all || t == end) && kept(r, t)) publish(table[t / b - 1], key_of(r, t, group, true));
      if (end == state_tail && end % b != 0) {
        publish(table.back(), key_of(r, end, group, true));
        r.state_shared = true;
      }
    }
  }

  std::vector<Block> blocks;
  std::map<Key, std::list<int>> index;
  std::vector<int> copied;
  std::int64_t step = 0;
};

}  // namespace hybridkv::testing
