#include "simulator/tree/tree_invariants.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/checked.h"

namespace hybridkv {

namespace {

class TreeChecker {
 public:
  TreeChecker(const RadixTree& tree, std::vector<const TreeRequest*> requests)
      : requests_(std::move(requests)),
        tree_(tree),
        nodes_(TreePeek::nodes(tree_)),
        page_(tree_.settings().page),
        alive_(nodes_.size(), true) {}

  std::vector<std::string> run() {
    alive_[tree_root] = false;
    for (const TreeNodeId id : TreePeek::unused(tree_)) {
      require(alive_[id], "node {} is unused twice", id);
      alive_[id] = false;
    }
    each_node([&](TreeNodeId id) { check_node(id); });
    if (!violations_.empty()) return std::move(violations_);  // what hangs together nowhere is not walked
    check_children();
    check_runs();
    check_index();
    check_locks();
    check_leaves();
    check_states();
    check_host();
    check_counters();
    for (const TreeRequest* const request : requests_) check_request(*request);
    check_slots();
    if (tree_.settings().numbers_pages) check_rows();
    return std::move(violations_);
  }

 private:
  template <class... Values>
  void require(bool sound, fmt::format_string<Values...> what, Values&&... values) {
    if (!sound) violations_.push_back(fmt::format(what, std::forward<Values>(values)...));
  }
  template <class Use>
  void each_node(Use&& use) const {
    for (TreeNodeId id = 1; id < nodes_.size(); ++id)
      if (alive_[id]) use(id);
  }
  std::int64_t size(TreeNodeId id) const { return nodes_[id].end - nodes_[id].start; }

  void check_node(TreeNodeId id) {
    const auto& node = nodes_[id];
    require(node.start >= 0 && node.start < node.end && node.start % page_ == 0 && node.end % page_ == 0,
            "node {} has tokens {} to {}", id, node.start, node.end);
    const bool has_parent = node.parent == tree_root || (node.parent < nodes_.size() && alive_[node.parent]);
    require(has_parent, "node {} hangs below {}, which is gone", id, node.parent);
    if (!has_parent) return;
    require(node.start == (node.parent == tree_root ? 0 : nodes_[node.parent].end),
            "node {} starts at {} and not where its parent ends", id, node.start);
    const auto run = [&](std::int64_t number) { return TreePeek::runs(tree_).run(node.runs, number); };
    require(run(node.first_run).end_token > node.start && run(node.last_run).end_token >= node.end &&
                (node.first_run == node.last_run || run(node.last_run - 1).end_token < node.end),
            "node {} does not lie in its runs", id);
    require(run(node.last_run).chain == node.chain, "node {} has another chain than its last run", id);
    require(node.used > 0 && node.used <= TreePeek::clock(tree_), "node {} was used at {}", id, node.used);
  }

  void check_children() {
    std::vector<std::uint32_t> children(nodes_.size()), on_device(nodes_.size());
    each_node([&](TreeNodeId id) {
      ++children[nodes_[id].parent];
      on_device[nodes_[id].parent] += nodes_[id].on_device ? 1 : 0;
    });
    for (TreeNodeId id = 0; id < nodes_.size(); ++id)
      require((id != tree_root && !alive_[id]) || on_device[id] == nodes_[id].device_children,
              "node {} has {} children on the device and counts {}", id, on_device[id], nodes_[id].device_children);
    for (TreeNodeId id = 0; id < nodes_.size(); ++id)
      require(id != tree_root && !alive_[id] ? true : children[id] == nodes_[id].children,
              "node {} has {} children and counts {}", id, children[id], nodes_[id].children);
  }

  void check_runs() {
    std::map<RunStore::Stretch, std::int64_t> owners;
    each_node([&](TreeNodeId id) { ++owners[nodes_[id].runs]; });
    for (const auto& [stretch, count] : owners)
      require(TreePeek::runs(tree_).owners(stretch) == count, "runs {} have {} owners and count {}", stretch, count,
              TreePeek::runs(tree_).owners(stretch));
    require(TreePeek::runs(tree_).num_kept() == std::ssize(owners), "{} runs are kept, {} in use",
            TreePeek::runs(tree_).num_kept(), owners.size());
  }

  void check_index() {
    std::int64_t count = 0;
    each_node([&](TreeNodeId id) {
      ++count;
      const PrefixKey key = TreePeek::first_page_key(tree_, id);
      require(TreePeek::index(tree_).key(id) == key && TreePeek::index(tree_).find(key) == id,
              "the index does not find node {}", id);
    });
    require(TreePeek::index(tree_).size() == count, "the index has {} nodes of {}",
            TreePeek::index(tree_).size(), count);
  }

  void check_locks() {
    std::vector<std::uint32_t> locks(nodes_.size()), state_locks(nodes_.size());
    for (const TreeRequest* const request : requests_) {
      require(request->node == tree_root || alive_[request->node], "a request holds node {}, which is gone",
              request->node);
      for (TreeNodeId id = request->node; id != tree_root; id = nodes_[id].parent) ++locks[id];
      state_locks[request->node] += request->locks_state ? 1 : 0;
    }
    each_node([&](TreeNodeId id) {
      require(nodes_[id].locks == locks[id], "node {} has {} locks", id, nodes_[id].locks);
      require(nodes_[id].state_locks == state_locks[id], "the state of node {} has {} locks", id,
              nodes_[id].state_locks);
      require(nodes_[id].state_locks == 0 || nodes_[id].state != 0, "node {} locks no state", id);
      require(nodes_[id].locks == 0 || nodes_[id].on_device, "node {} is locked and left the device", id);
    });
  }

  /// Nodes of a list in its order; a list that does not come back to its head within all nodes is broken.
  std::vector<TreeNodeId> listed(const FreeQueue& list, const char* name) {
    std::vector<TreeNodeId> found;
    TreeNodeId before = tree_root;
    for (TreeNodeId id = list.front(); id != tree_root; before = id, id = list.next(id)) {
      const bool sound = id < nodes_.size() && list.previous(id) == before && found.size() < nodes_.size();
      require(sound, "the list of {} is broken", name);
      if (!sound) return found;
      found.push_back(id);
    }
    require(list.size() == std::ssize(found), "the list of {} counts {} of {}", name, list.size(), found.size());
    return found;
  }

  void check_leaves() {
    const std::vector<TreeNodeId> leaves = listed(TreePeek::leaves(tree_), "leaves");
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      require(alive_[leaves[i]] && is_device_leaf(leaves[i]), "node {} is listed and no leaf", leaves[i]);
      require(i == 0 || nodes_[leaves[i - 1]].used < nodes_[leaves[i]].used, "leaf {} stands before an older one",
              leaves[i]);
    }
    const std::set<TreeNodeId> set(leaves.begin(), leaves.end());
    each_node([&](TreeNodeId id) {
      require(!is_device_leaf(id) || set.contains(id), "leaf {} is not listed", id);
    });
  }

  bool is_device_leaf(TreeNodeId id) const { return nodes_[id].on_device && nodes_[id].device_children == 0; }

  void check_host() {
    std::int64_t tokens = tree_.free_host_tokens(), states = tree_.free_host_states();
    std::set<TreeNodeId> leaves, away;
    each_node([&](TreeNodeId id) {
      const auto& node = nodes_[id];
      require(node.on_device || node.on_host, "node {} has KV nowhere", id);
      require(!node.on_device || nodes_[node.parent].on_device, "node {} hangs on the device below one that left", id);
      require(node.on_device || (node.state == 0 && node.locks == 0), "node {} holds what left the device", id);
      require(node.on_host || !node.state_on_host, "node {} has its state alone on the host", id);
      tokens += node.on_host ? size(id) : 0;
      states += node.state_on_host ? 1 : 0;
      if (!node.on_device && node.children == 0) leaves.insert(id);
      if (node.state_on_host && node.state == 0) away.insert(id);
    });
    require(tokens == tree_.settings().host.tokens, "{} tokens of the host are counted", tokens);
    require(states == tree_.settings().host.states, "{} states of the host are counted", states);
    const auto require_listed = [&](const FreeQueue& list, const std::set<TreeNodeId>& nodes, const char* name) {
      const std::vector<TreeNodeId> found = listed(list, name);
      require(std::set<TreeNodeId>(found.begin(), found.end()) == nodes, "the list of {} has others", name);
    };
    require_listed(TreePeek::host_leaves(tree_), leaves, "leaves of the host");
    require_listed(TreePeek::by_host_state(tree_), away, "states of the host");
  }

  void check_states() {
    const std::vector<TreeNodeId> states = listed(TreePeek::by_state(tree_), "states");
    for (const TreeNodeId id : states)
      require(alive_[id] && nodes_[id].state != 0, "node {} is listed and has no state", id);
    const std::set<TreeNodeId> set(states.begin(), states.end());
    each_node([&](TreeNodeId id) {
      require(nodes_[id].state == 0 || set.contains(id), "the state of node {} is not listed", id);
    });
  }

  void check_counters() {
    std::int64_t tokens = 0, evictable = 0;
    each_node([&](TreeNodeId id) {
      if (!nodes_[id].on_device) return;
      tokens += size(id);
      evictable += nodes_[id].locks == 0 ? size(id) : 0;
    });
    require(tree_.num_tokens() == tokens, "the tree counts {} tokens of {}", tree_.num_tokens(), tokens);
    require(tree_.evictable_tokens() == evictable, "{} tokens can be evicted, counted {}", evictable,
            tree_.evictable_tokens());
    const TokenPool& pool = tree_.token_pool();
    std::int64_t own = 0;
    for (const TreeRequest* const request : requests_) own += request->own_pages;
    require(pool.free_pages() + tokens / page_ + own == pool.num_pages(),
            "{} free pages, {} of the tree and {} of the request are not {}", pool.free_pages(), tokens / page_, own,
            pool.num_pages());
  }

  void check_request(const TreeRequest& request) {
    require(request.protected_tokens == nodes_[request.node].end, "the request protects {} tokens, its node ends at {}",
            request.protected_tokens, nodes_[request.node].end);
    require(request.own_pages == ceil_div(request.computed_tokens, page_) - request.protected_tokens / page_,
            "the request has {} pages for tokens {} to {}", request.own_pages, request.protected_tokens,
            request.computed_tokens);
    for (TreeNodeId id = request.node; id != tree_root; id = nodes_[id].parent)
      require(request.content[static_cast<std::size_t>(nodes_[id].last_run)].chain == nodes_[id].chain,
              "the request's path has other content in node {}", id);
  }

  /// Every number from 1 to `most` is to come once.
  void require_once(const char* what, std::int64_t most, const std::vector<BlockId>& numbers) {
    std::vector<std::int64_t> times(static_cast<std::size_t>(most) + 1);
    for (const BlockId number : numbers) {
      require(number >= 1 && number <= most, "{} {} does not exist", what, number);
      if (number <= most) ++times[number];
    }
    for (std::size_t number = 1; number < times.size(); ++number)
      require(times[number] == 1, "{} {} stands {} times", what, number, times[number]);
  }

  void check_slots() {
    std::vector<StateSlot> slots = tree_.free_states().in_order();
    each_node([&](TreeNodeId id) {
      if (nodes_[id].state != 0) slots.push_back(nodes_[id].state);
    });
    for (const TreeRequest* const request : requests_) {
      if (request->active != 0) slots.push_back(request->active);
      slots.insert(slots.end(), request->tracking.begin(), request->tracking.end());
    }
    require_once("state slot", tree_.settings().state_slots, slots);
  }

  void check_rows() {
    std::vector<BlockId> rows = tree_.token_pool().free_rows();
    each_node([&](TreeNodeId id) {
      const PageRows& own = TreePeek::rows(tree_)[id];
      if (!nodes_[id].on_device) return;
      require(std::ssize(own) * page_ == size(id), "node {} of {} tokens has {} pages", id, size(id), own.size());
      rows.insert(rows.end(), own.begin(), own.end());
    });
    for (const TreeRequest* const request : requests_) {
      require(std::ssize(request->rows) == request->own_pages, "the request has {} pages and counts {}",
              request->rows.size(), request->own_pages);
      rows.insert(rows.end(), request->rows.begin(), request->rows.end());
    }
    require_once("page", tree_.token_pool().num_pages(), rows);
  }

  std::vector<const TreeRequest*> requests_;
  const RadixTree& tree_;
  const std::remove_reference_t<decltype(TreePeek::nodes(std::declval<const RadixTree&>()))>& nodes_;
  std::int64_t page_;
  std::vector<bool> alive_;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> find_violations(const TreeReplay& replay) {
  return TreeChecker(replay.tree(), {&replay.request()}).run();
}

std::vector<std::string> find_violations(const TreeScheduler& scheduler) {
  return TreeChecker(scheduler.tree(), scheduler.requests()).run();
}

}  // namespace hybridkv
