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
      by_state_(1),
      host_leaves_(1),
      by_host_state_(1),
      free_host_tokens_(settings.host.tokens),
      free_host_states_(settings.host.states) {}

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
    host_leaves_.add_block();
    by_host_state_.add_block();
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
           .runs = lower.runs, .parent = lower.parent, .children = 1, .device_children = lower.on_device ? 1U : 0U,
           .locks = lower.locks, .uses = lower.uses, .on_device = lower.on_device, .on_host = lower.on_host};
  upper.chain = runs_.run(upper.runs, upper.last_run).chain;
  runs_.share(lower.runs);
  lower.start = at;
  lower.first_run = run_of(lower, at);
  lower.parent = upper_id;
  index_.erase(id);
  index_.insert(key, upper_id);
  index_.insert(first_page_key(lower), id);
  if (settings_.numbers_pages && lower.on_device) {
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
  ++nodes_[walk.node].children;
  leaf.used = ++clock_;
  gain_kv(id, std::move(rows));
  return id;
}

void RadixTree::gain_kv(TreeNodeId id, PageRows rows) {
  Node& node = nodes_[id];
  if (settings_.numbers_pages) rows_[id] = std::move(rows);
  if (host_leaves_.contains(id)) host_leaves_.remove(id);
  if (node.parent != tree_root && nodes_[node.parent].device_children == 0) leaves_.remove(node.parent);
  ++nodes_[node.parent].device_children;
  join_leaves(leaves_, id, leaves_.previous(tree_root));
  node.on_device = true;
  tokens_ += size(node);
  evictable_tokens_ += size(node);
}

void RadixTree::use_now(TreeNodeId id) {
  nodes_[id].used = ++clock_;
  if (id == tree_root) return;
  for (FreeQueue* const leaves : {&leaves_, &host_leaves_}) {
    if (!leaves->contains(id)) continue;
    leaves->remove(id);
    leaves->push_back(id);
  }
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
    if (has_hit(walk.node)) {
      found.node = walk.node;
      found.hit_tokens = common;
      if (has_host() && !is_away(walk.node)) {
        found.device_node = walk.node;
        found.device_tokens = common;
      }
    }
    if (!whole) break;
  }
  if (found.node != tree_root && settings_.has_states) {
    if (has_state(found.node)) {
      by_state_.remove(found.node);
      by_state_.push_back(found.node);
    }
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
  PageRows given;
  if (settings_.numbers_pages) {
    const std::int64_t count = std::max<std::int64_t>(0, walk.limit - pages.protected_tokens) / settings_.page;
    given.assign(pages.rows->begin(), pages.rows->begin() + count);
    pages.rows->erase(pages.rows->begin(), pages.rows->begin() + count);
  }
  const auto rows_of_tokens = [&](std::int64_t start, std::int64_t end) {
    return rows_between(given, pages.protected_tokens, start, end);
  };
  for (TreeNodeId child; (child = next_child(walk)) != tree_root;) {
    use_now(child);
    const std::int64_t common = common_tokens(walk, nodes_[child]);
    const bool whole = common == nodes_[child].end;
    walk.node = whole ? child : split(child, common);
    const std::int64_t own_start = std::max(walk.tokens, pages.protected_tokens);
    if (!nodes_[walk.node].on_device) gain_kv(walk.node, rows_of_tokens(walk.tokens, common));
    else if (own_start < common)
      token_pool_.give((common - own_start) / settings_.page, rows_of_tokens(own_start, common));
    walk.tokens = common;
    walk.run = static_cast<std::size_t>(nodes_[walk.node].last_run);
    if (pages.is_use) count_use(walk.node);
    if (!whole) break;
  }
  TreeInsertion done{.existing_tokens = walk.tokens};
  expects(walk.tokens >= std::min(pages.protected_tokens, walk.limit), "what a request protects is in the tree");
  const bool is_new = walk.tokens < walk.limit;
  done.node = is_new ? add_leaf(walk, rows_of_tokens(walk.tokens, walk.limit)) : walk.node;
  if (offered != 0 && done.node != tree_root) done.took_state = keep_state(done.node, offered);
  if (is_new && pages.is_use) count_use(done.node);
  if (done.took_state && settings_.max_states_per_path >= 0) trim_path(done.node);
  return done;
}

PageRows RadixTree::rows_between(const PageRows& given, std::int64_t first, std::int64_t start,
                                 std::int64_t end) const {
  if (!settings_.numbers_pages) return {};
  const auto at = [&](std::int64_t tokens) { return given.begin() + (tokens - first) / settings_.page; };
  return PageRows(at(start), at(end));
}

bool RadixTree::keep_state(TreeNodeId id, StateSlot offered) {
  Node& end = nodes_[id];
  const bool is_new = end.state == 0;
  if (is_new) {
    if (by_host_state_.contains(id)) by_host_state_.remove(id);
    end.state = offered;
    end.state_used = false;
  } else {
    by_state_.remove(id);
  }
  by_state_.push_back(id);
  if (is_new) tell(id, TreeStateChange::kept);
  return is_new;
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
  if (nodes_[id].state_on_host) by_host_state_.push_back(id);
}

void RadixTree::evict_state(TreeNodeId id) {
  ++evictions_.states;
  if (!nodes_[id].state_used) ++evictions_.unused_states;
  if (!nodes_[id].state_on_host) tell(id, TreeStateChange::evicted);
  drop_state(id);
}

void RadixTree::join_leaves(FreeQueue& leaves, TreeNodeId id, TreeNodeId after) {
  const std::int64_t used = nodes_[id].used;
  while (after != tree_root && nodes_[after].used > used) after = leaves.previous(after);
  for (TreeNodeId next; (next = leaves.next(after)) != tree_root && nodes_[next].used < used;) after = next;
  leaves.insert_after(after, id);
}

TreeNodeId RadixTree::remove_leaf(TreeNodeId id) {
  const Node& leaf = nodes_[id];
  contract([&] { return leaf.children == 0 && leaf.locks == 0 && leaf.state_locks == 0; },
           "a leaf is removed that nobody locks");
  if (leaf.state != 0) evict_state(id);
  --nodes_[leaf.parent].children;
  const TreeNodeId new_leaf = lose_kv(id);
  free_node(id);
  return new_leaf;
}

TreeNodeId RadixTree::lose_kv(TreeNodeId id) {
  Node& leaf = nodes_[id];
  const TreeNodeId before = leaves_.previous(id);
  leaves_.remove(id);
  leaf.on_device = false;
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
  if (--nodes_[parent].device_children > 0 || parent == tree_root) return tree_root;
  join_leaves(leaves_, parent, before);
  return parent;
}

TreeNodeId RadixTree::evict_leaf(TreeNodeId id) {
  if (!has_host()) return remove_leaf(id);
  if (!nodes_[id].on_host && settings_.host.copies == HostCopies::write_back) copy_to_host(id);
  if (nodes_[id].on_host) return move_to_host(id);
  drop_copies_below(id);
  return remove_leaf(id);
}

void RadixTree::evict_tokens(std::int64_t tokens) {
  const std::int64_t wanted = evictions_.tokens + tokens;
  for (TreeNodeId id = leaves_.front(); id != tree_root && evictions_.tokens < wanted;) {
    if (nodes_[id].locks > 0) {
      id = leaves_.next(id);
      continue;
    }
    const TreeNodeId next = leaves_.next(id);
    const TreeNodeId parent = evict_leaf(id);
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
      if (node.device_children == 0 && node.locks == 0) {
        evict_leaf(id);
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
    if (!node.state_on_host) tell(*id, TreeStateChange::trimmed);
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
