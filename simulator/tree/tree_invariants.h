#pragma once

#include <string>
#include <vector>

#include "simulator/tree/tree_replay.h"
#include "simulator/tree/tree_scheduler.h"

namespace hybridkv {

/// Everything that is wrong with a dual pool and its tree between two actions of requests; empty = sound.
///
/// Checked: nodes hang together, end where their children start, and carry the content of their runs; the index finds
/// each by its first page and nothing else; locks are those of the requests in flight, on whole paths; the list of
/// leaves holds exactly the nodes without children in the order of their last use, the list of states exactly the nodes
/// with one; sizes and counters agree with the nodes; tokens of tree, requests and pool come to all there are, a node
/// has KV for every one of its pages, and neither a page nor a state slot stands twice or is lost. With a host tier
/// each node has KV on the device or the host, none below one that left the device has it there, and lists and sizes of
/// the host agree with the nodes as well.
std::vector<std::string> find_violations(const TreeReplay& replay);
std::vector<std::string> find_violations(const TreeScheduler& scheduler);

/// Opens the insides of a tree and its driver, for find_violations and for tests that plant a fault.
struct TreePeek {
  static auto& tree(auto& replay) { return replay.tree_; }
  static auto& request(auto& replay) { return replay.request_; }
  static auto& nodes(auto& tree) { return tree.nodes_; }
  static auto& unused(auto& tree) { return tree.unused_; }
  static auto& rows(auto& tree) { return tree.rows_; }
  static auto& runs(auto& tree) { return tree.runs_; }
  static auto& index(auto& tree) { return tree.index_; }
  static auto& leaves(auto& tree) { return tree.leaves_; }
  static auto& by_state(auto& tree) { return tree.by_state_; }
  static auto& host_leaves(auto& tree) { return tree.host_leaves_; }
  static auto& by_host_state(auto& tree) { return tree.by_host_state_; }
  static auto& tokens(auto& tree) { return tree.tokens_; }
  static auto& evictable(auto& tree) { return tree.evictable_tokens_; }
  static auto& clock(auto& tree) { return tree.clock_; }
  static PrefixKey first_page_key(const RadixTree& tree, TreeNodeId id) {
    return tree.first_page_key(tree.nodes_[id]);
  }
};

}  // namespace hybridkv
