#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "simulator/blocks/cache_geometry.h"
#include "tests/simulator/pool_ref_033.h"

namespace hybridkv::testing {

/// Prefix cache of vLLM 0.33 once more, slow and as the engine writes it: block tables keep their null columns, lengths
/// are found by walking down. One pool, one block size.
class CacheRef033 {
 public:
  using Tokens = PoolRef033::Tokens;
  using Key = PoolRef033::Key;

  struct Request {
    std::int64_t index = 0, n = 0, wanted = 0;
    Tokens tokens;                             ///< prompt and what was generated
    std::int64_t computed = 0, scheduled = 0, junction = 0, generated = 0, preemptions = 0;
    std::int64_t stuck_tokens = -1, stuck_computed = -1;
    bool admitted = false, allocated = false, prefill_chunk = false;
    std::vector<std::vector<int>> tables;      ///< (group), null columns included
    std::vector<std::int64_t> cached;          ///< (group) leading columns that are entered
    std::vector<int> shared;                   ///< (group) block to copy before the next token, 0 = none
    std::int64_t exported = 0;                 ///< by the chunk under way
    std::int64_t hit = 0, evictions = 0;
    std::int64_t prefill_chunks = 0;           ///< of its first prefill
    std::string status;
  };

  explicit CacheRef033(const CacheGeometry& geometry) : pool(geometry.num_blocks), g(geometry) {
    full = g.attention_groups;
    for (std::int64_t group = 0; group < g.attention_groups; ++group)
      if (!g.attention_masks.empty() && g.attention_masks[group].kind != MaskKind::full) {
        windows.push_back(static_cast<int>(group));
        --full;
      }
    groups = static_cast<int>(g.attention_groups + g.state_groups);
    B = g.block_size_tokens, s = g.speculative_tokens, l = g.rules.lookahead_tokens;
    align = g.state_groups > 0 && g.mode == CacheMode::align;
    caching = g.state_groups == 0 || align;
    h = groups > 1 && g.match_unit_tokens ? *g.match_unit_tokens : B;
    fine = align && h < B && windows.empty();
    grain = fine ? h : B;
  }

  PoolRef033 pool;

 protected:
  const CacheGeometry g;
  std::int64_t full = 0, B = 1, s = 0, l = 0, h = 1, grain = 1;
  std::vector<int> windows;
  int groups = 0;
  bool align = false, caching = false, fine = false;
  std::set<Key> made;
  std::vector<std::pair<int, int>> pending;  // group, block to let go when the step is scheduled

  bool is_state(int group) const { return group >= g.attention_groups; }
  bool is_window(int group) const { return std::find(windows.begin(), windows.end(), group) != windows.end(); }
  bool drops(int group) const {
    return g.drafter_drops_block && !is_state(group) && g.rules.drafts(static_cast<std::size_t>(group));
  }

  bool known(const Request& r, std::int64_t t) const { return t + l <= std::ssize(r.tokens); }
  Key key_of(const Request& r, int group, std::int64_t t) const {
    return {group, t, Tokens(r.tokens.begin(), r.tokens.begin() + t + l)};
  }
  int find(const Request& r, int group, std::int64_t t) const {
    if (!known(r, t)) return 0;
    return pool.find(key_of(r, group, t));
  }

  // --- where prefixes are kept
  std::int64_t pos(std::int64_t x, std::int64_t unit) const {
    if (g.drafter_drops_block) return std::max<std::int64_t>(0, x / unit * unit - unit);
    const std::int64_t y = x - std::max<std::int64_t>(1, l);
    return y < 0 ? 0 : y / unit * unit;
  }
  std::vector<std::int64_t> replayed(std::int64_t n) const {
    if (!g.drafter_drops_block) return {(n - 1) / B * B};
    return {(n - 1) / B * B - B, n / B * B - B};
  }
  bool keeps(std::int64_t t, const Request& r) const {
    const auto R = g.retention_interval_tokens;
    if (!R || (*R > 0 && t % *R == 0)) return true;
    for (const std::int64_t at : replayed(r.n))
      if (at == t) return true;
    return r.junction > 0 && t == r.junction / B * B;
  }
  bool keeps_window(std::int64_t column, int group, const Request& r) const {
    const std::int64_t v = ceil_div(g.attention_masks[group].window_tokens - 1, B);
    const std::int64_t shift = drops(group) ? 1 : 0;
    std::vector<std::int64_t> ends;  // columns behind the last one kept
    const auto R = g.retention_interval_tokens;
    // Where the blocks of all boundaries touch one another, every one is entered.
    if (R != 0 && v + shift >= R.value_or(B) / B) return true;
    for (std::int64_t t = 0; t <= (column + v + 2) * B; t += B)
      if ((!R || (*R > 0 && t % *R == 0)) && t > 0) ends.push_back(t / B + shift);
    if (R) {
      for (const std::int64_t t : replayed(r.n)) ends.push_back(std::max<std::int64_t>(0, t) / B + shift);
      if (r.junction > 0) ends.push_back(r.junction / B + shift);
    }
    return std::any_of(ends.begin(), ends.end(),
                       [&](std::int64_t end) { return column < end && column >= end - v - shift; });
  }
  bool exportable(std::int64_t start, std::int64_t end, std::int64_t p) const {
    if (g.rules.checkpoint_blocks == 0 || !align) return false;
    const std::int64_t initial = start == 0 ? -1 : (start - 1) / B;
    return start % h == 0 && ceil_div(end, B) - 2 > initial && start + h <= p && p < end &&
           (p - start) % g.rules.checkpoint_alignment == 0;
  }
  std::int64_t manager_export(const Request& r, std::int64_t start, std::int64_t end,
                              const std::vector<int>& table) const {
    const std::int64_t e = std::max<std::int64_t>(r.n, std::ssize(r.tokens) - 1);
    if (g.retention_interval_tokens == 0 && end < e) return 0;
    const std::int64_t p = pos(end, grain), column = ceil_div(end, B) - 2;
    if (!exportable(start, end, p)) return 0;
    const bool usable = column >= std::ssize(table) || table[column] == 0 ||
                        (r.allocated && column >= std::ssize(table) - s);
    return usable ? p : 0;
  }

  // --- look-up
  struct Hit {
    std::int64_t tokens = 0, junction = 0;
    std::vector<std::vector<int>> tables;
  };
  std::int64_t find_full(const Request& r, std::int64_t limit, std::vector<std::vector<int>>& tables) const {
    const bool drop = drops(0);
    if (drop && groups > 1) limit += grain;
    std::int64_t t = 0;
    const auto held = [&](std::int64_t at) {
      for (int group = 0; group < full; ++group)
        if (find(r, group, at) == 0) return false;
      return true;
    };
    const auto add = [&](std::int64_t at) {
      for (int group = 0; group < full; ++group) tables[group].push_back(find(r, group, at));
    };
    while (t + B <= limit && held(t + B)) t += B, add(t);
    if (fine)
      for (std::int64_t at = t + B - 1; at > t; --at)
        if (at <= limit && at % h == 0 && held(at)) {
          add(at);
          t = at;
          break;
        }
    if (drop && t > 0) t -= std::min(grain, B);
    t -= t % grain;
    for (int group = 0; group < full; ++group) tables[group].resize(ceil_div(t, B));
    return t;
  }
  std::int64_t find_window(const Request& r, int group, std::int64_t limit, std::vector<int>& table) const {
    const bool drop = drops(group);
    const std::int64_t v = ceil_div(g.attention_masks[group].window_tokens - 1, B) + (drop ? 1 : 0);
    // The rightmost end before which so many blocks are found, or all from the start.
    for (std::int64_t end = (limit + (drop && groups > 1 ? grain : 0)) / B; end > 0; --end) {
      std::int64_t found = 0;
      while (found < end && found < std::max<std::int64_t>(v, 1) && find(r, group, (end - found) * B) != 0) ++found;
      if (found < std::min(std::max<std::int64_t>(v, 1), end)) continue;
      table.assign(end, 0);
      for (std::int64_t i = end - found; i < end; ++i) table[i] = find(r, group, (i + 1) * B);
      if (drop) table.pop_back();
      return std::ssize(table) * B;
    }
    table.clear();
    return 0;
  }
  std::int64_t find_state(const Request& r, std::int64_t limit, std::vector<std::vector<int>>& tables) const {
    for (std::int64_t t = limit; t > 0; --t) {
      if (t % grain != 0) continue;
      bool all = true;
      for (int group = static_cast<int>(g.attention_groups); group < groups; ++group)
        all = all && find(r, group, t) != 0;
      if (!all) continue;
      for (int group = static_cast<int>(g.attention_groups); group < groups; ++group) {
        tables[group].assign(ceil_div(t, B), 0);
        tables[group].back() = find(r, group, t);
      }
      return t;
    }
    return 0;
  }
  Hit look_up(const Request& r) const {
    Hit hit;
    hit.tables.resize(groups);
    if (!caching) return hit;
    std::int64_t at = std::ssize(r.tokens) - 1, longest = 0;
    if (full > 0) longest = at = find_full(r, at, hit.tables);
    for (bool changed = true; changed;) {
      const std::int64_t before = at;
      for (const int group : windows) {
        at = find_window(r, group, at, hit.tables[group]);
        longest = std::max(longest, at);
      }
      if (align) {
        for (int group = static_cast<int>(g.attention_groups); group < groups; ++group) hit.tables[group].clear();
        at = find_state(r, at, hit.tables);
        longest = std::max(longest, at);
      }
      changed = at != before;
    }
    for (int group = 0; group < g.attention_groups; ++group) {
      hit.tables[group].resize(ceil_div(at, B));
      if (is_window(group))
        for (std::int64_t i = 0; i < passed(group, at); ++i) hit.tables[group][i] = 0;
    }
    hit.tokens = at;
    hit.junction = longest > at ? longest : 0;
    return hit;
  }
  std::int64_t passed(int group, std::int64_t computed) const {
    return std::max<std::int64_t>(0, computed - g.attention_masks[group].window_tokens + 1) / B;
  }

  // --- blocks of a chunk
  std::int64_t need(const Request& r, int group, const std::vector<int>& found, std::int64_t start, std::int64_t end,
                    std::int64_t slots, bool first, bool whole) const {
    const auto free_found = std::count_if(found.begin(), found.end(),
                                          [&](int id) { return id != 0 && pool.blocks[id].references == 0; });
    if (!is_state(group)) {
      std::int64_t required = ceil_div(slots, B);
      if (whole && is_window(group))
        required = std::min(
            required, ceil_div(g.attention_masks[group].window_tokens - 1 + g.max_num_batched_tokens, B) + 1);
      const std::int64_t have = first ? std::ssize(found) : std::ssize(r.tables[group]);
      return std::max<std::int64_t>(0, required - have) + free_found + (first && start % B != 0 ? 1 : 0);
    }
    if (!align) return first ? 1 + s : 0;
    const std::vector<int>& table = first ? found : r.tables[group];
    std::int64_t blocks_needed = ceil_div(end, B) + s - std::ssize(table);
    const bool copy = first ? start % B != 0 : r.shared[group] != 0;
    if (copy) blocks_needed = std::max<std::int64_t>(blocks_needed, 0) + 1;
    if (blocks_needed > 0)
      blocks_needed = 1 + copy + (r.allocated ? 0 : s) + (manager_export(r, start, end, table) > 0 ? 1 : 0);
    return std::max<std::int64_t>(blocks_needed, 0) + free_found;
  }
  bool fits(const Request& r, const std::vector<std::vector<int>>& found, std::int64_t start, std::int64_t end,
            std::int64_t slots, bool first, bool whole) const {
    std::int64_t all = 0;
    for (int group = 0; group < groups; ++group) all += need(r, group, found[group], start, end, slots, first, whole);
    return all <= std::ssize(pool.queue);
  }

  bool allocate(Request& r, std::int64_t start, std::int64_t rows, const Hit* hit) {
    const std::int64_t end = start + rows;
    const std::vector<std::vector<int>> nothing(groups);
    const auto& found = hit ? hit->tables : nothing;
    if (hit) {
      for (int group = static_cast<int>(g.attention_groups); align && group < groups; ++group)
        if (!found[group].empty() && made.count(pool.blocks[found[group].back()].keys.front()) > 0) return false;
      if (!fits(r, found, start, std::ssize(r.tokens), std::ssize(r.tokens), true, true)) return false;
    } else {
      remove_passed(r, start);
    }
    if (!fits(r, found, start, end, end + s, hit != nullptr, false)) return false;
    const std::int64_t before = pool.evictions;
    if (hit) {
      r.tables = hit->tables;
      r.shared.assign(groups, 0);
      r.cached.assign(groups, 0);
      for (int group = 0; group < groups; ++group) {
        for (const int id : r.tables[group]) pool.touch(id);
        r.cached[group] = start / B;
        if (start % B != 0) r.shared[group] = r.tables[group].back();
      }
    }
    r.exported = align && !r.tables.empty() ? manager_export(r, start, end, r.tables.back()) : 0;
    for (int group = 0; group < groups; ++group)
      is_state(group) ? grow_state(r, group, end) : grow_attention(r, group, start, end + s);
    r.allocated = true;
    r.evictions += pool.evictions - before;
    if (caching) cache_all(r, std::min<std::int64_t>(end, std::ssize(r.tokens)), r.exported);
    return true;
  }
  void remove_passed(Request& r, std::int64_t computed) {
    for (int group = 0; group < groups; ++group) {
      std::int64_t columns = 0;
      if (is_window(group)) columns = passed(group, computed);
      if (is_state(group) && align) columns = (computed - 1) / B;
      std::vector<int> freed;
      for (std::int64_t i = std::min(columns, std::ssize(r.tables[group])) - 1; i >= 0; --i)
        if (r.tables[group][i] != 0) freed.push_back(std::exchange(r.tables[group][i], 0));
      pool.give_back(freed);
    }
  }
  void grow_attention(Request& r, int group, std::int64_t start, std::int64_t slots) {
    auto& table = r.tables[group];
    if (const int source = std::exchange(r.shared[group], 0); source != 0) {
      table[start / B] = pool.take();
      pending.emplace_back(group, source);
    }
    while (std::ssize(table) < ceil_div(slots, B)) table.push_back(pool.take());
  }
  void grow_state(Request& r, int group, std::int64_t end) {
    auto& table = r.tables[group];
    if (!align) {
      while (std::ssize(table) < 1 + s) table.push_back(pool.take());
      return;
    }
    const std::int64_t required = ceil_div(end, B) + s, before = std::ssize(table);
    const std::int64_t first_held = required - s - 1 - (r.exported > 0 ? 1 : 0);  // columns left of it are null
    const int source = std::exchange(r.shared[group], 0);
    int copy = 0;
    if (source != 0) {
      copy = pool.take();
      if (r.allocated) {
        for (const Key& key : pool.blocks[source].keys) {
          pool.forget(source, key);
          pool.enter(copy, key);
          made.insert(key);
        }
        pool.blocks[source].keys.clear();
        pending.emplace_back(group, copy);
      } else {
        table.back() = copy;
        pending.emplace_back(group, source);
      }
    }
    if (required <= before) return;
    while (std::ssize(table) < first_held) table.push_back(0);
    if (r.allocated)
      for (std::int64_t column = before - s; column < before && column < first_held; ++column) {
        table.push_back(table[column]);
        table[column] = 0;
      }
    while (std::ssize(table) < required) table.push_back(pool.take());
  }

  // --- what is entered
  void cache_all(Request& r, std::int64_t tokens, std::int64_t exported) {
    for (int group = 0; group < groups; ++group) {
      auto& table = r.tables[group];
      const std::int64_t reserved = is_state(group) && exported > 0 ? std::ssize(table) - s - 2 : -1;
      std::int64_t column = r.cached[group];
      for (; (column + 1) * B <= tokens && known(r, (column + 1) * B); ++column) {
        const std::int64_t t = (column + 1) * B;
        if (table[column] == 0 || column == reserved) continue;
        if (is_window(group) && !keeps_window(column, group, r)) continue;
        if (is_state(group) && !keeps(t, r) && !(exported == 0 && t == tokens && keeps_inside(t, r))) continue;
        enter_whole(r, group, table[column], t);
      }
      r.cached[group] = column;
      if (is_state(group))
        enter_state_inside(r, group, tokens, exported, reserved);
      else if (fine)
        enter_tail(r, group, tokens);
    }
  }
  bool keeps_inside(std::int64_t t, const Request& r) const {
    return fine && (t == pos(r.n, h) || (g.rules.exact_junctions && g.drafter_drops_block && t == r.junction));
  }
  void enter_whole(Request& r, int group, int id, std::int64_t t) {
    if (is_state(group)) made.insert(key_of(r, group, t));
    const std::vector<Key> tails = std::exchange(pool.blocks[id].keys, {});
    for (const Key& key : tails) pool.forget(id, key);
    pool.enter(id, key_of(r, group, t));
    for (const Key& key : tails) pool.enter(id, key);
  }
  void enter_state_inside(Request& r, int group, std::int64_t tokens, std::int64_t exported, std::int64_t reserved) {
    auto& table = r.tables[group];
    if (exported > 0) {
      const auto R = g.retention_interval_tokens;
      const bool kept = exported == pos(r.n, grain) || exported == r.junction ||
                        (exported % B == 0 && (!R || (*R > 0 && exported % *R == 0)));
      if (!kept || !pool.blocks[table[reserved]].keys.empty() || !known(r, exported)) return;
      made.insert(key_of(r, group, exported));
      pool.enter(table[reserved], key_of(r, group, exported));
      return;
    }
    if (tokens % B == 0 || !keeps_inside(tokens, r) || !pool.blocks[table[tokens / B]].keys.empty()) return;
    made.insert(key_of(r, group, tokens));
    pool.enter(table[tokens / B], key_of(r, group, tokens));
    r.shared[group] = table[tokens / B];
    r.cached[group] = tokens / B;
  }
  void enter_tail(Request& r, int group, std::int64_t tokens) {
    const std::int64_t t = (g.drafter_drops_block ? r.n : r.n - 1) / h * h;
    if (t == 0 || t > tokens || t % B == 0 || !known(r, t)) return;
    const int id = r.tables[group][t / B];
    const Key key = key_of(r, group, t);
    const auto& keys = pool.blocks[id].keys;
    if (id != 0 && std::find(keys.begin(), keys.end(), key) == keys.end()) pool.enter(id, key);
  }

};

}  // namespace hybridkv::testing
