// The host tier of a radix tree: copies, what becomes of them, and loading back. Source: SGLang, read.
#include <utility>

#include "base/contract.h"
#include "simulator/tree/radix_tree.h"

namespace hybridkv {

namespace {

/// Fewer tokens are not worth a load, unless a state comes with them (SGLang load_back_threshold).
constexpr std::int64_t least_loaded_tokens = 10;

}  // namespace

void RadixTree::count_use(TreeNodeId id) {
  if (!has_host() || settings_.host.copies == HostCopies::write_back) return;
  Node& node = nodes_[id];
  const std::uint32_t needed = settings_.host.copies == HostCopies::write_through ? 1 : 2;
  if (++node.uses >= needed && !node.on_host) copy_path(id);
}

bool RadixTree::copy_path(TreeNodeId id) {
  // What hangs below a copy must be found by way of copies.
  const TreeNodeId parent = nodes_[id].parent;
  if (parent != tree_root && !nodes_[parent].on_host && !copy_path(parent)) return false;
  return copy_to_host(id);
}

bool RadixTree::copy_to_host(TreeNodeId id) {
  Node& node = nodes_[id];
  const std::int64_t tokens = size(node);
  if (free_host_tokens_ < tokens) evict_host_tokens(tokens - free_host_tokens_);
  if (free_host_tokens_ < tokens) return false;
  if (node.state != 0) {
    if (free_host_states_ == 0) evict_host_states(1);
    if (free_host_states_ == 0) return false;
    --free_host_states_;
    node.state_on_host = true;
    ++host_counts_.written_states;
  }
  free_host_tokens_ -= tokens;
  node.on_host = true;
  host_counts_.written_tokens += tokens;
  return true;
}

TreeNodeId RadixTree::move_to_host(TreeNodeId id) {
  if (nodes_[id].state != 0) evict_state(id);
  const TreeNodeId new_leaf = lose_kv(id);
  if (nodes_[id].children == 0) join_leaves(host_leaves_, id, host_leaves_.previous(tree_root));
  return new_leaf;
}

void RadixTree::evict_host_tokens(std::int64_t tokens) {
  const std::int64_t wanted = host_counts_.evicted_tokens + tokens;
  for (TreeNodeId id = host_leaves_.front(); id != tree_root && host_counts_.evicted_tokens < wanted;) {
    const TreeNodeId next = host_leaves_.next(id);
    const TreeNodeId parent = id == host_locked_ ? tree_root : remove_host_leaf(id);
    const bool parent_first = parent != tree_root && (next == tree_root || nodes_[parent].used < nodes_[next].used);
    id = parent_first ? parent : next;
  }
}

void RadixTree::evict_host_states(std::int64_t states) {
  const std::int64_t wanted = host_counts_.evicted_states + states;
  for (TreeNodeId id = by_host_state_.front(); id != tree_root && host_counts_.evicted_states < wanted;) {
    const TreeNodeId next = by_host_state_.next(id);
    if (id != host_locked_) {
      if (host_leaves_.contains(id)) remove_host_leaf(id);
      else drop_host_state(id);
    }
    id = next;
  }
}

void RadixTree::drop_host_state(TreeNodeId id) {
  tell(id, TreeStateChange::evicted);
  by_host_state_.remove(id);
  nodes_[id].state_on_host = false;
  ++free_host_states_;
  ++host_counts_.evicted_states;
}

TreeNodeId RadixTree::remove_host_leaf(TreeNodeId id) {
  const Node& leaf = nodes_[id];
  contract([&] { return leaf.children == 0 && !leaf.on_device && leaf.on_host && leaf.state == 0; },
           "a node leaves the host that is nowhere else");
  if (leaf.state_on_host) drop_host_state(id);
  free_host_tokens_ += size(leaf);
  host_counts_.evicted_tokens += size(leaf);
  const TreeNodeId before = host_leaves_.previous(id), parent = leaf.parent;
  host_leaves_.remove(id);
  free_node(id);
  if (--nodes_[parent].children > 0 || nodes_[parent].on_device) return tree_root;
  join_leaves(host_leaves_, parent, before);
  return parent;
}

void RadixTree::drop_copies_below(TreeNodeId id) {
  const auto is_below = [&](TreeNodeId node) {
    while (node != tree_root && node != id) node = nodes_[node].parent;
    return node == id;
  };
  while (nodes_[id].children > 0) {
    TreeNodeId leaf = host_leaves_.front();
    while (!is_below(leaf)) leaf = host_leaves_.next(leaf);
    remove_host_leaf(leaf);
  }
}

bool RadixTree::take_room(std::int64_t tokens, bool state) {
  if (token_pool_.free_tokens() < tokens) evict_tokens(tokens - token_pool_.free_tokens());
  if (token_pool_.free_tokens() < tokens) return false;
  if (state && free_states_.size() == 0) evict_states(1);
  return !state || free_states_.size() > 0;
}

void RadixTree::load(TreeNodeId id) {
  PageRows rows;
  token_pool_.take(size(nodes_[id]) / settings_.page, rows);
  gain_kv(id, std::move(rows));
  host_counts_.loaded_tokens += size(nodes_[id]);
}

bool RadixTree::load_back(TreeNodeId node, StateSlot& running) {
  expects(is_away(node), "what is loaded back lies on the host");
  path_.clear();
  std::int64_t tokens = 0;
  TreeNodeId on_device = node;
  for (; !nodes_[on_device].on_device; on_device = nodes_[on_device].parent) {
    path_.push_back(on_device);
    tokens += size(nodes_[on_device]);
  }
  const bool needs_state = settings_.has_states && nodes_[node].state == 0;
  if (tokens < least_loaded_tokens && !needs_state) return false;
  host_locked_ = node;
  lock(on_device);
  if (needs_state && free_states_.size() == 0) evict_states(1);
  const bool has_slot = !needs_state || free_states_.size() > 0;
  if (has_slot && needs_state) running = free_states_.pop_front();
  const bool has_room = has_slot && take_room(tokens, needs_state);
  unlock(on_device);
  host_locked_ = tree_root;
  if (!has_room) {
    if (running != 0) free_states_.push_back(std::exchange(running, 0));
    ++host_counts_.failed_loads;
    return false;
  }
  for (auto id = path_.rbegin(); id != path_.rend(); ++id) load(*id);
  if (!needs_state) return true;
  by_host_state_.remove(node);
  by_state_.push_back(node);
  nodes_[node].state = free_states_.pop_front();
  ++host_counts_.loaded_states;
  return true;
}

}  // namespace hybridkv
