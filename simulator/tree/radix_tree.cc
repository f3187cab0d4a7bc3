#include "simulator/tree/radix_tree.h"

#include <algorithm>
#include <utility>

#include "base/contract.h"

namespace hybridkv {

RadixTree::RadixTree(const Settings& settings)
    : settings_(settings),
      token_pool_(settings.token_slots, settings.page, settings.numbers_pages),
      free_states_(settings.state_slots + 1),
      nodes_(1),
      rows_(1),
      index_(1),
      leaves_(1),
      by_state_(1) {}

TreeNodeId RadixTree::next_child(Walk& walk) const {
  const std::int64_t page_end = walk.tokens + settings_.page;
  if (page_end > walk.limit) return tree_root;
  while (walk.prompt[walk.run].end_token < page_end) ++walk.run;
  return index_.find(prefix_key(walk.prompt[walk.run].chain, page_end));
}

std::int64_t RadixTree::common_tokens(const Walk& walk, const Node& child) const {
  const std::span<const TokenRun> prompt = walk.prompt;
  const auto runs = static_cast<std::int64_t>(prompt.size());
  const auto run = [&](std::int64_t number) { return prompt[static_cast<std::size_t>(number)]; };
  std::int64_t common = std::min(child.end, walk.limit);
  if (child.last_run < runs && run(child.last_run).chain == child.chain) {
    common = std::min(common, run(child.last_run).end_token);
  } else {
    // A chain stands for all that comes before it: runs agree up to one and differ from then on.
    std::int64_t same = child.first_run, differs = std::min(child.last_run, runs);
    while (differs - same > 1) {
      const std::int64_t middle = same + (differs - same) / 2;
      (run(middle).chain == runs_.run(child.runs, middle).chain ? same : differs) = middle;
    }
    common = std::min({common, run(same).end_token, runs_.run(child.runs, same).end_token});
  }
  return common - common % settings_.page;
}

std::int64_t RadixTree::run_of(const Node& node, std::int64_t token) const {
  std::int64_t before = node.first_run - 1, at = node.last_run;
  while (at - before > 1) {
    const std::int64_t middle = before + (at - before) / 2;
    (runs_.run(node.runs, middle).end_token > token ? at : before) = middle;
  }
  return at;
}

PrefixKey RadixTree::first_page_key(const Node& node) const {
  const std::int64_t page_end = node.start + settings_.page;
  return prefix_key(runs_.run(node.runs, run_of(node, page_end - 1)).chain, page_end);
}

TreeNodeId RadixTree::new_node() {
  if (unused_.empty()) {
    nodes_.push_back({});
    if (settings_.numbers_pages) rows_.push_back({});
    index_.add_block();
    leaves_.add_block();
    by_state_.add_block();
    return static_cast<TreeNodeId>(nodes_.size() - 1);
  }
  const TreeNodeId id = unused_.back();
  unused_.pop_back();
  nodes_[id] = {};
  return id;
}

void RadixTree::free_node(TreeNodeId id) {
  runs_.release(nodes_[id].runs);
  index_.erase(id);
  unused_.push_back(id);
}

TreeNodeId RadixTree::split(TreeNodeId id, std::int64_t at) {
  const PrefixKey key = index_.key(id);
  const TreeNodeId upper_id = new_node();
  Node& lower = nodes_[id];
  Node& upper = nodes_[upper_id];
  contract([&] { return lower.start < at && at < lower.end && at % settings_.page == 0; },
           "a node is cut inside, between pages");
  upper = {.start = lower.start, .end = at, .first_run = lower.first_run, .last_run = run_of(lower, at - 1),
           .runs = lower.runs, .parent = lower.parent, .children = 1, .locks = lower.locks};
  upper.chain = runs_.run(upper.runs, upper.last_run).chain;
  runs_.share(lower.runs);
  lower.start = at;
  lower.first_run = run_of(lower, at);
  lower.parent = upper_id;
  index_.erase(id);
  index_.insert(key, upper_id);
  index_.insert(first_page_key(lower), id);
  if (settings_.numbers_pages) {
    PageRows& rows = rows_[id];
    const auto cut = rows.begin() + (at - upper.start) / settings_.page;
    rows_[upper_id].assign(rows.begin(), cut);
    rows.erase(rows.begin(), cut);
  }
  use_now(upper_id);
  use_now(id);
  ++splits_;
  return upper_id;
}

TreeNodeId RadixTree::add_leaf(const Walk& walk, PageRows rows) {
  const TreeNodeId id = new_node();
  Node& leaf = nodes_[id];
  leaf.start = walk.tokens;
  leaf.end = walk.limit;
  leaf.parent = walk.node;
  std::size_t first = walk.run;
  while (first > 0 && walk.prompt[first - 1].end_token > leaf.start) --first;
  while (walk.prompt[first].end_token <= leaf.start) ++first;
  std::size_t last = first;
  while (walk.prompt[last].end_token < leaf.end) ++last;
  leaf.first_run = static_cast<std::int64_t>(first);
  leaf.last_run = static_cast<std::int64_t>(last);
  leaf.chain = walk.prompt[last].chain;
  leaf.runs = runs_.keep(walk.prompt.subspan(first, last - first + 1), leaf.first_run);
  index_.insert(first_page_key(leaf), id);
  if (settings_.numbers_pages) rows_[id] = std::move(rows);
  Node& parent = nodes_[walk.node];
  if (walk.node != tree_root && parent.children == 0) leaves_.remove(walk.node);
  ++parent.children;
  leaves_.push_back(id);
  leaf.used = ++clock_;
  tokens_ += size(leaf);
  evictable_tokens_ += size(leaf);
  return id;
}

void RadixTree::use_now(TreeNodeId id) {
  nodes_[id].used = ++clock_;
  if (id == tree_root || nodes_[id].children > 0) return;
  leaves_.remove(id);
  leaves_.push_back(id);
}

TreeMatch RadixTree::match(std::span<const TokenRun> prompt, std::int64_t limit) {
  Walk walk{.prompt = prompt, .limit = limit - limit % settings_.page};
  TreeMatch found;
  for (TreeNodeId child; (child = next_child(walk)) != tree_root;) {
    const std::int64_t common = common_tokens(walk, nodes_[child]);
    const bool whole = common == nodes_[child].end;
    walk.node = whole ? child : split(child, common);
    walk.tokens = found.kv_tokens = common;
    walk.run = static_cast<std::size_t>(nodes_[walk.node].last_run);
    if (!settings_.has_states || has_state(walk.node)) {
      found.node = walk.node;
      found.hit_tokens = common;
    }
    if (!whole) break;
  }
  if (found.node != tree_root && settings_.has_states) {
    by_state_.remove(found.node);
    by_state_.push_back(found.node);
    if (!std::exchange(nodes_[found.node].state_used, true)) ++used_states_;
  }
  path_.clear();
  for (TreeNodeId id = found.node; id != tree_root; id = nodes_[id].parent) path_.push_back(id);
  for (auto id = path_.rbegin(); id != path_.rend(); ++id) use_now(*id);
  return found;
}

TreeInsertion RadixTree::insert(std::span<const TokenRun> prompt, std::int64_t tokens, StateSlot offered,
                                const OfferedPages& pages) {
  Walk walk{.prompt = prompt, .limit = tokens - tokens % settings_.page};
  for (TreeNodeId child; (child = next_child(walk)) != tree_root;) {
    use_now(child);
    const std::int64_t common = common_tokens(walk, nodes_[child]);
    const bool whole = common == nodes_[child].end;
    walk.node = whole ? child : split(child, common);
    walk.tokens = common;
    walk.run = static_cast<std::size_t>(nodes_[walk.node].last_run);
    if (!whole) break;
  }
  TreeInsertion done{.existing_tokens = walk.tokens};
  expects(walk.tokens >= std::min(pages.protected_tokens, walk.limit), "what a request protects is in the tree");
  const std::int64_t duplicates =
      std::max<std::int64_t>(0, walk.tokens - pages.protected_tokens) / settings_.page;
  PageRows rows;
  if (settings_.numbers_pages) {
    PageRows& own = *pages.rows;
    const auto old_end = own.begin() + duplicates;
    const auto new_end =
        own.begin() + std::max<std::int64_t>(0, walk.limit - pages.protected_tokens) / settings_.page;
    token_pool_.give(duplicates, std::span(own.data(), static_cast<std::size_t>(duplicates)));
    rows.assign(old_end, new_end);
    own.erase(own.begin(), new_end);
  } else {
    token_pool_.give(duplicates, {});
  }
  done.node = walk.tokens < walk.limit ? add_leaf(walk, std::move(rows)) : walk.node;
  if (offered == 0 || done.node == tree_root) return done;
  Node& end = nodes_[done.node];
  if (end.state != 0) {
    by_state_.remove(done.node);
  } else {
    end.state = offered;
    end.state_used = false;
    done.took_state = true;
  }
  by_state_.push_back(done.node);
  if (done.took_state) tell(done.node, TreeStateChange::kept);
  if (done.took_state && settings_.max_states_per_path >= 0) trim_path(done.node);
  return done;
}

void RadixTree::lock(TreeNodeId node) {
  for (TreeNodeId id = node; id != tree_root; id = nodes_[id].parent)
    if (nodes_[id].locks++ == 0) evictable_tokens_ -= size(nodes_[id]);
}

void RadixTree::unlock(TreeNodeId node) {
  for (TreeNodeId id = node; id != tree_root; id = nodes_[id].parent) {
    expects(nodes_[id].locks > 0, "a node is unlocked that is locked");
    if (--nodes_[id].locks == 0) evictable_tokens_ += size(nodes_[id]);
  }
}

void RadixTree::lock_state(TreeNodeId node) {
  if (node == tree_root) return;
  expects(has_state(node), "a state is locked that is there");
  ++nodes_[node].state_locks;
}

void RadixTree::unlock_state(TreeNodeId node) {
  if (node == tree_root) return;
  expects(nodes_[node].state_locks > 0, "a state is unlocked that is locked");
  --nodes_[node].state_locks;
}

void RadixTree::drop_state(TreeNodeId id) {
  by_state_.remove(id);
  free_states_.push_back(nodes_[id].state);
  nodes_[id].state = 0;
}

void RadixTree::evict_state(TreeNodeId id) {
  ++evictions_.states;
  if (!nodes_[id].state_used) ++evictions_.unused_states;
  tell(id, TreeStateChange::evicted);
  drop_state(id);
}

void RadixTree::join_leaves(TreeNodeId id, TreeNodeId after) {
  const std::int64_t used = nodes_[id].used;
  while (after != tree_root && nodes_[after].used > used) after = leaves_.previous(after);
  for (TreeNodeId next; (next = leaves_.next(after)) != tree_root && nodes_[next].used < used;) after = next;
  leaves_.insert_after(after, id);
}

TreeNodeId RadixTree::remove_leaf(TreeNodeId id) {
  const Node& leaf = nodes_[id];
  contract([&] { return leaf.children == 0 && leaf.locks == 0 && leaf.state_locks == 0; },
           "a leaf is removed that nobody locks");
  if (leaf.state != 0) evict_state(id);
  const TreeNodeId before = leaves_.previous(id);
  leaves_.remove(id);
  tokens_ -= size(leaf);
  evictable_tokens_ -= size(leaf);
  evictions_.tokens += size(leaf);
  ++evictions_.nodes;
  if (settings_.numbers_pages) {
    token_pool_.give(size(leaf) / settings_.page, rows_[id]);
    rows_[id].clear();
  } else {
    token_pool_.give(size(leaf) / settings_.page, {});
  }
  const TreeNodeId parent = leaf.parent;
  free_node(id);
  if (--nodes_[parent].children > 0 || parent == tree_root) return tree_root;
  join_leaves(parent, before);
  return parent;
}

void RadixTree::evict_tokens(std::int64_t tokens) {
  const std::int64_t wanted = evictions_.tokens + tokens;
  for (TreeNodeId id = leaves_.front(); id != tree_root && evictions_.tokens < wanted;) {
    if (nodes_[id].locks > 0) {
      id = leaves_.next(id);
      continue;
    }
    const TreeNodeId next = leaves_.next(id);
    const TreeNodeId parent = remove_leaf(id);
    const bool parent_first = parent != tree_root && (next == tree_root || nodes_[parent].used < nodes_[next].used);
    id = parent_first ? parent : next;
  }
}

void RadixTree::evict_states(std::int64_t states) {
  const std::int64_t wanted = evictions_.states + states;
  for (TreeNodeId id = by_state_.front(); id != tree_root && evictions_.states < wanted;) {
    const TreeNodeId next = by_state_.next(id);
    const Node& node = nodes_[id];
    if (node.state_locks == 0) {
      if (node.children == 0 && node.locks == 0) {
        remove_leaf(id);
      } else {
        evict_state(id);
      }
    }
    id = next;
  }
}

void RadixTree::trim_path(TreeNodeId tail) {
  path_.clear();
  for (TreeNodeId id = tail; id != tree_root; id = nodes_[id].parent)
    if (has_state(id)) path_.push_back(id);
  std::int64_t excess = std::ssize(path_) - settings_.max_states_per_path;
  for (auto id = path_.rbegin(); id != path_.rend() && excess > 0; ++id) {
    const Node& node = nodes_[*id];
    if (*id == tail || node.state_locks > 0 || node.children != 1) continue;
    tell(*id, TreeStateChange::trimmed);
    drop_state(*id);
    ++trimmed_states_;
    --excess;
  }
}

std::vector<std::int64_t> RadixTree::state_positions() const {
  std::vector<std::int64_t> positions;
  for (const TreeNodeId id : by_state_.in_order()) positions.push_back(nodes_[id].end);
  std::sort(positions.begin(), positions.end());
  return positions;
}

PageRows RadixTree::rows_of(TreeNodeId node) const {
  PageRows rows(static_cast<std::size_t>(nodes_[node].end / settings_.page));
  for (TreeNodeId id = node; id != tree_root; id = nodes_[id].parent)
    std::copy(rows_[id].begin(), rows_[id].end(), rows.begin() + nodes_[id].start / settings_.page);
  return rows;
}

}  // namespace hybridkv
