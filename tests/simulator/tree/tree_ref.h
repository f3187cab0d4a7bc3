#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include "simulator/tree/tree_replay.h"

namespace hybridkv::testing {

/// The dual pool and its tree once more, slow and straight from the rules of SGLang 0.5.23: keys are lists of tokens,
/// times are the engine's floating point numbers, every eviction collects and sorts its candidates anew.
class TreeRef {
 public:
  using Tokens = std::vector<std::uint64_t>;  // content, one number a token

  explicit TreeRef(const TreeSettings& settings)
      : s(settings), free_tokens(s.token_slots / s.page * s.page), free_states(s.state_slots) {}

  /// `tokens`: prompt of n tokens, and at least what it generates.
  TreeRecord run(std::int64_t index, const Tokens& tokens, std::int64_t n, std::int64_t output) {
    TreeRecord record{.index = index, .input_length = n};
    evicted_tokens = evicted_states = evicted_unused = 0;
    Request r{.tokens = tokens, .n = n, .output = s.decodes ? std::max<std::int64_t>(1, output) : 1};
    record.status = serve(r, record);
    for (std::int64_t i = 0; i < r.private_pages; ++i) free_tokens += s.page;
    free_states += r.slots;
    set_lock(r.node, r.state_locked, -1);
    record.evicted_tokens = evicted_tokens;
    record.evicted_states = evicted_states;
    record.evicted_unused_states = evicted_unused;
    record.free_tokens = free_tokens;
    record.free_states = free_states;
    for (Node* node : all_nodes()) record.tree_tokens += std::ssize(node->key);
    record.tree_states = std::ssize(lru);
    return record;
  }

 private:
  struct Node {
    Tokens key;
    Node* parent = nullptr;
    std::map<Tokens, std::unique_ptr<Node>> children;  // by first page
    double time = 0;
    int locks = 0, state_locks = 0;
    bool state = false, hit = false;  // the state was hit
    std::int64_t depth() const { return std::ssize(key) + (parent ? parent->depth() : 0); }
  };
  struct Request {
    Tokens tokens;
    std::int64_t n = 0, output = 1, computed = 0, held = 0, private_pages = 0, slots = 0, tracked = 0;
    bool active = false;
    Node* node = nullptr;
    bool state_locked = false;
  };

  double tick() { return counter += 1.0; }
  static Tokens part(const Tokens& tokens, std::int64_t begin, std::int64_t end) {
    return {tokens.begin() + begin, tokens.begin() + end};
  }
  std::int64_t floor_page(std::int64_t tokens) const { return tokens / s.page * s.page; }

  std::vector<Node*> all_nodes() {
    std::vector<Node*> nodes;
    for (auto& [page, child] : root.children) nodes.push_back(child.get());
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (auto& [page, child] : nodes[i]->children) nodes.push_back(child.get());
    return nodes;
  }

  Node* split(Node* child, std::int64_t tokens) {
    Node* parent = child->parent;
    const Tokens first = part(child->key, 0, s.page);
    std::unique_ptr<Node> lower = std::move(parent->children.at(first));
    auto upper = std::make_unique<Node>();
    upper->key = part(child->key, 0, tokens);
    upper->parent = parent;
    upper->locks = child->locks;
    upper->time = tick();
    child->key = part(child->key, tokens, std::ssize(child->key));
    child->parent = upper.get();
    child->time = tick();
    upper->children[part(child->key, 0, s.page)] = std::move(lower);
    Node* made = upper.get();
    parent->children[first] = std::move(upper);
    return made;
  }

  // Walks along the first `limit` tokens; nodes in order, without the root.
  std::vector<Node*> walk(const Tokens& tokens, std::int64_t limit, bool touch) {
    std::vector<Node*> path;
    Node* at = &root;
    for (std::int64_t done = 0; done + s.page <= limit;) {
      const auto found = at->children.find(part(tokens, done, done + s.page));
      if (found == at->children.end()) break;
      Node* child = found->second.get();
      if (touch) child->time = tick();
      std::int64_t same = 0;
      while (same < std::ssize(child->key) && done + same < limit && child->key[same] == tokens[done + same]) ++same;
      same = floor_page(same);
      const bool whole = same == std::ssize(child->key);
      at = whole ? child : split(child, same);
      path.push_back(at);
      done += same;
      if (!whole) break;
    }
    return path;
  }

  void to_mru(Node* node) {
    lru.remove(node);
    lru.push_back(node);
  }

  void set_lock(Node* node, bool state, int by) {
    if (node && state) node->state_locks += by;
    for (Node* at = node; at && at != &root; at = at->parent) at->locks += by;
  }
  void move_lock(Request& r, Node* node, bool with_state = true) {
    const bool state = with_state && node && node->state;
    set_lock(node, state, 1);
    set_lock(r.node, r.state_locked, -1);
    r.node = node;
    r.state_locked = state;
  }

  void remove(Node* leaf) {
    if (leaf->state) {
      lru.remove(leaf);
      ++free_states;
      ++evicted_states;
      if (!leaf->hit) ++evicted_unused;
    }
    free_tokens += std::ssize(leaf->key);
    evicted_tokens += std::ssize(leaf->key);
    Node* parent = leaf->parent;
    parent->children.erase(part(leaf->key, 0, s.page));
  }
  void evict_tokens(std::int64_t count) {
    for (const std::int64_t wanted = evicted_tokens + count; evicted_tokens < wanted;) {
      Node* oldest = nullptr;
      for (Node* node : all_nodes())
        if (node->children.empty() && node->locks == 0 && (!oldest || node->time < oldest->time)) oldest = node;
      if (!oldest) return;
      remove(oldest);
    }
  }
  void evict_states(std::int64_t count) {
    for (const std::int64_t wanted = evicted_states + count; evicted_states < wanted;) {
      const auto oldest = std::find_if(lru.begin(), lru.end(), [](Node* node) { return node->state_locks == 0; });
      if (oldest == lru.end()) return;
      Node* node = *oldest;
      if (node->children.empty() && node->locks == 0) {
        remove(node);
        continue;
      }
      lru.erase(oldest);
      node->state = false;
      ++free_states;
      ++evicted_states;
      if (!node->hit) ++evicted_unused;
    }
  }

  // Inserts the first `tokens` tokens; true if the state was taken.
  bool insert(Request& r, std::int64_t tokens, bool offers_state, TreeRecord& record, Node*& end) {
    tokens = floor_page(tokens);
    const std::vector<Node*> path = walk(r.tokens, tokens, true);
    end = path.empty() ? &root : path.back();
    const std::int64_t existing = end->depth();
    free_tokens += std::max<std::int64_t>(0, existing - r.held);
    r.private_pages -= (tokens - r.held) / s.page;
    r.held = tokens;
    if (existing < tokens) {
      auto leaf = std::make_unique<Node>();
      leaf->key = part(r.tokens, existing, tokens);
      leaf->parent = end;
      leaf->time = tick();
      Node* made = leaf.get();
      end->children[part(leaf->key, 0, s.page)] = std::move(leaf);
      end = made;
    }
    if (!offers_state || end == &root) return false;
    const bool took = !end->state;
    end->state = true;
    to_mru(end);
    if (!took) return false;
    end->hit = false;
    ++record.states_made;
    record.states_trimmed += trim(end);
    return true;
  }

  // Number of states dropped.
  std::int64_t trim(Node* tail) {
    if (s.max_states_per_path < 0) return 0;
    std::int64_t dropped = 0;
    std::vector<Node*> path;  // deepest first
    for (Node* at = tail; at != &root; at = at->parent)
      if (at->state) path.push_back(at);
    std::int64_t excess = std::ssize(path) - s.max_states_per_path;
    std::reverse(path.begin(), path.end());
    for (Node* node : path) {
      if (excess <= 0) break;
      if (node == tail || node->state_locks > 0 || node->children.size() != 1) continue;
      lru.remove(node);
      node->state = false;
      ++free_states;
      ++dropped;
      --excess;
    }
    return dropped;
  }

  RequestStatus serve(Request& r, TreeRecord& record);
  bool prefill(Request& r, TreeRecord& record);
  bool keep(Request& r, TreeRecord& record);
  bool decode(Request& r, TreeRecord& record);
  std::int64_t grid() const { return std::lcm(std::max(s.model_chunk, s.page), s.page); }

  TreeSettings s;
  Node root;
  std::list<Node*> lru;
  double counter = 1;
  std::int64_t free_tokens, free_states;
  std::int64_t evicted_tokens = 0, evicted_states = 0, evicted_unused = 0;
};

inline RequestStatus TreeRef::serve(Request& r, TreeRecord& record) {
  const std::vector<Node*> path = walk(r.tokens, floor_page(r.n - 1), false);
  Node* hit = nullptr;
  for (Node* node : path)
    if (!s.has_states() || node->state) hit = node;
  record.kv_match_tokens = path.empty() ? 0 : path.back()->depth();
  record.hit_tokens = r.computed = r.held = hit ? hit->depth() : 0;
  double time = tick();
  for (Node* at = hit; at && at != &root; at = at->parent, time -= 1e-5) at->time = time;
  if (hit && s.has_states()) {
    to_mru(hit);
    record.states_used = hit->hit ? 0 : 1;
    hit->hit = true;
  }
  const std::int64_t branch = record.kv_match_tokens / grid() * grid();
  if (s.has_states() && branch > record.hit_tokens) record.branch_tokens = branch;
  move_lock(r, hit);
  if (hit && s.has_states()) {
    if (free_states == 0) evict_states(1);
    if (free_states == 0) return RequestStatus::refused;
    --free_states;
    r.slots = 1;
    r.active = true;
  }
  std::int64_t reachable = free_tokens;
  for (Node* node : all_nodes()) reachable += node->locks == 0 ? std::ssize(node->key) : 0;
  if (r.n - r.computed + std::min<std::int64_t>(r.output, 4096) + s.page >= reachable) return RequestStatus::refused;
  if (!prefill(r, record) || !decode(r, record)) return RequestStatus::stalled;
  Node* end = nullptr;
  const bool lazy = s.has_tracking() && s.strategy == TreeStrategy::extra_buffer_lazy;
  const bool next_step_is_kept = (r.n + r.output) % std::lcm(grid(), s.track_interval) == 0;
  if (s.step_ahead && s.decodes && lazy && next_step_is_kept && free_states == 0) r.tracked = 0;
  if (!s.has_tracking()) {
    if (insert(r, r.n + r.output - 1, s.has_states(), record, end)) --r.slots;
  } else if (r.tracked > 0 && insert(r, r.tracked, true, record, end)) {
    --r.slots;
  }
  return RequestStatus::ok;
}

inline bool TreeRef::prefill(Request& r, TreeRecord& record) {
  const std::int64_t tracking =
      !s.has_tracking() ? 0 : s.strategy == TreeStrategy::extra_buffer && s.overlap ? 2 : 1;
  const std::int64_t G = grid(), C = std::max(s.model_chunk, s.page), c = s.model_chunk;
  while (r.computed < r.n) {
    const std::int64_t p = r.computed, rest = r.n - p;
    std::int64_t e = p + std::min(rest, s.chunk_tokens);
    if (record.chunks.empty() && (rest + s.page - 1) / s.page * s.page > s.chunk_tokens)
      e = floor_page(p + floor_page(s.chunk_tokens));
    if (s.has_states()) {
      const std::int64_t missing = 1 + tracking - r.slots;
      if (free_states < missing) evict_states(missing - free_states);
      if (free_states < missing) return false;
      free_states -= missing;
      r.slots += missing;
    }
    const std::int64_t needed = e - p + (s.page > 1 ? s.page : 0);
    if (free_tokens < needed) evict_tokens(needed - free_tokens);
    std::int64_t pages = 0;
    for (std::int64_t token = p; token < e; ++token) pages += token % s.page == 0;
    if (free_tokens < pages * s.page) return false;
    free_tokens -= pages * s.page;
    r.private_pages += pages;
    r.computed = e;
    record.chunks.push_back(e - p);
    r.tracked = 0;
    if (!s.has_tracking()) r.tracked = e;
    if (s.has_tracking() && e - p >= G) {
      r.tracked = p + (e - p) / G * G;
      const std::int64_t branch = record.branch_tokens;
      const std::int64_t bound = (e - p) / c * c != r.tracked - p ? r.tracked + 1 : e;
      if (p < branch && branch < bound && (branch - p) % C == 0) r.tracked = branch;
    }
    if ((e < r.n || r.output > 1) && !keep(r, record)) return false;
  }
  return true;
}

inline bool TreeRef::keep(Request& r, TreeRecord& record) {
  Node* end = nullptr;
  if (!s.has_states()) {
    insert(r, r.computed, false, record, end);
  } else {
    if (r.tracked == 0) return true;
    if (free_states == 0 && s.strategy == TreeStrategy::extra_buffer_lazy && r.state_locked) {
      --r.node->state_locks;
      r.state_locked = false;
    }
    if (free_states == 0) evict_states(1);
    if (free_states == 0) return false;
    --free_states;
    if (!insert(r, r.tracked, true, record, end)) ++free_states;
    r.tracked = 0;
  }
  move_lock(r, end == &root ? nullptr : end, !s.skip_decode_lock);
  return true;
}

inline bool TreeRef::decode(Request& r, TreeRecord& record) {
  const std::int64_t interval = std::lcm(grid(), s.track_interval);
  for (std::int64_t made = 1; made < r.output; ++made) {
    if (free_tokens < s.page) evict_tokens(s.page - free_tokens);
    if (r.computed % s.page == 0) {
      if (free_tokens < s.page) return false;
      free_tokens -= s.page;
      ++r.private_pages;
    }
    ++r.computed;
    if (s.has_tracking() && r.computed % interval == 0) r.tracked = r.computed;
  }
  record.generated = s.decodes ? r.output : 0;
  return true;
}

}  // namespace hybridkv::testing
