#include "simulator/snapshots/snapshot_tree.h"

#include <algorithm>

#include "base/error.h"

namespace hybridkv {

namespace {

/// Children beyond which no part of a block is looked for.
constexpr std::int64_t most_searched_children = 31;

/// The run of a prompt in which token `end - 1` lies.
std::span<const TokenRun>::iterator run_of(std::span<const TokenRun> prompt, std::int64_t end) {
  return std::lower_bound(prompt.begin(), prompt.end(), end,
                          [](const TokenRun& run, std::int64_t token) { return run.end_token < token; });
}

PrefixKey key_of(std::span<const TokenRun> prompt, std::int64_t end) {
  return prefix_key(run_of(prompt, end)->chain, end);
}

/// The runs of tokens [start, end) of a prompt.
std::vector<TokenRun> piece_of(std::span<const TokenRun> prompt, std::int64_t start, std::int64_t end) {
  std::vector<TokenRun> piece;
  for (auto run = run_of(prompt, start + 1); run != prompt.end(); ++run) {
    piece.push_back({std::min(run->end_token, end), run->chain});
    if (run->end_token >= end) break;
  }
  return piece;
}

/// Tokens from `start` on that a block has in common with the piece of a prompt that begins with it.
std::int64_t common_beginning(const SnapshotBlock& block, std::span<const TokenRun> prompt, std::int64_t start,
                              std::int64_t end) {
  std::int64_t common = start;
  auto run = run_of(prompt, start + 1);
  for (const TokenRun& own : block.content) {
    if (run == prompt.end() || common == end || own.chain != run->chain) break;
    const std::int64_t until = std::min(run->end_token, end);
    common = std::min(own.end_token, until);
    if (own.end_token != until) break;
    ++run;
  }
  return common - start;
}

}  // namespace

SnapshotTree::SnapshotTree(std::int64_t block_tokens, bool partial_reuse, PagePool& pages, PagePool& states)
    : block_tokens_(block_tokens), partial_reuse_(partial_reuse), pages_(pages), states_(states), nodes_(1) {}

SnapshotNode SnapshotTree::find(std::span<const TokenRun> prompt, std::int64_t end) const {
  return find_key(key_of(prompt, end));
}

MatchedBlock SnapshotTree::best_part(SnapshotNode parent, std::span<const TokenRun> prompt, std::int64_t start,
                                     std::int64_t end) const {
  MatchedBlock best;
  if (!partial_reuse_ || at(parent).children > most_searched_children) return best;
  for (SnapshotNode child = at(parent).first_child; child != no_node; child = at(child).behind) {
    const std::int64_t common = common_beginning(at(child), prompt, start, end);
    if (common > best.tokens) best = {child, common};
  }
  return best;
}

SnapshotMatch SnapshotTree::match(std::span<const TokenRun> prompt, std::int64_t tokens) const {
  SnapshotMatch match;
  SnapshotNode node = root;
  for (std::int64_t start = 0; start < tokens;) {
    const std::int64_t end = std::min(start + block_tokens_, tokens);
    if (const SnapshotNode child = find(prompt, end); child != no_node) {
      match.path.push_back({child, end - start});
      node = child;
      start = end;
      continue;
    }
    if (const MatchedBlock part = best_part(node, prompt, start, end); part.tokens > 0) match.path.push_back(part);
    break;
  }
  measure(match);
  return match;
}

void SnapshotTree::measure(SnapshotMatch& match) const {
  bool has_pages = true;
  for (const MatchedBlock& part : match.path) {
    const SnapshotBlock& block = at(part.node);
    match.content_tokens = block.start + part.tokens;
    if (!has_pages) continue;
    const std::int64_t covered = block.page == no_page ? 0 : std::min(part.tokens, block.page_tokens);
    match.attention_tokens = block.start + covered;
    has_pages = covered == part.tokens;
    if (block.state == no_page || block.state_tokens > match.attention_tokens) continue;
    match.hit_tokens = block.state_tokens;
    match.state_node = part.node;
  }
}

SnapshotNode SnapshotTree::find_longer(SnapshotNode parent, std::span<const TokenRun> prompt, std::int64_t start,
                                       std::int64_t end) const {
  for (SnapshotNode child = at(parent).first_child; child != no_node; child = at(child).behind)
    if (at(child).end > end && common_beginning(at(child), prompt, start, end) == end - start) return child;
  return no_node;
}

/// A child that the piece goes on from: no two are, as the longer one would have taken the place of the other. Children
/// may be many, shorter pieces of a block are few.
SnapshotNode SnapshotTree::find_shorter(SnapshotNode parent, std::span<const TokenRun> prompt, std::int64_t start,
                                        std::int64_t end) const {
  if (at(parent).children == 0) return no_node;
  for (std::int64_t shorter = start + 1; shorter < end; ++shorter)
    if (const SnapshotNode child = find(prompt, shorter); child != no_node) return child;
  return no_node;
}

SnapshotNode SnapshotTree::new_node() {
  if (unused_.empty()) {
    nodes_.emplace_back();
    return std::ssize(nodes_) - 1;
  }
  const SnapshotNode node = unused_.back();
  unused_.pop_back();
  node_at(node) = {};
  return node;
}

SnapshotNode SnapshotTree::add(SnapshotNode parent, std::span<const TokenRun> prompt, std::int64_t start,
                               std::int64_t end) {
  const SnapshotNode shorter = find_shorter(parent, prompt, start, end);
  const SnapshotNode node = new_node();
  SnapshotBlock& block = node_at(node);
  block.parent = parent;
  block.key = key_of(prompt, end);
  block.start = start;
  block.end = end;
  block.content = piece_of(prompt, start, end);
  if (shorter != no_node) {
    SnapshotBlock& old = node_at(shorter);
    std::swap(block.page, old.page);
    std::swap(block.page_tokens, old.page_tokens);
    std::swap(block.state, old.state);
    std::swap(block.state_tokens, old.state_tokens);
    std::swap(block.state_used, old.state_used);
    if (block.page != no_page) pages_.set_node(block.page, node);
    if (block.state != no_page) states_.set_node(block.state, node);
    unlink(shorter);
  }
  SnapshotBlock& above = node_at(parent);
  block.before = above.last_child;
  if (above.last_child == no_node) above.first_child = node;
  else node_at(above.last_child).behind = node;
  above.last_child = node;
  ++above.children;
  by_key_[block.key] = node;
  ++blocks_;
  tokens_ += end - start;
  return node;
}

void SnapshotTree::set_page(SnapshotNode node, SnapshotPage page, std::int64_t tokens) {
  SnapshotBlock& block = node_at(node);
  if (block.page != no_page) give_up(pages_, block.page);
  block.page = page;
  block.page_tokens = tokens;
  pages_.set_node(page, node);
}

void SnapshotTree::set_state(SnapshotNode node, SnapshotPage state, std::int64_t tokens) {
  SnapshotBlock& block = node_at(node);
  if (block.state != no_page) drop_state(node, SnapshotChange::replaced);
  block.state = state;
  block.state_tokens = tokens;
  block.state_used = false;
  states_.set_node(state, node);
  ++states_in_tree_;
  tell(block, SnapshotChange::kept);
}

bool SnapshotTree::use_state(SnapshotNode node) {
  SnapshotBlock& block = node_at(node);
  const bool is_first = !block.state_used;
  block.state_used = true;
  return is_first;
}

void SnapshotTree::tell(const SnapshotBlock& block, SnapshotChange change) const {
  if (on_state) on_state(run_of(block.content, block.state_tokens)->chain, block.state_tokens, change);
}

void SnapshotTree::drop_state(SnapshotNode node, SnapshotChange why) {
  SnapshotBlock& block = node_at(node);
  tell(block, why);
  give_up(states_, block.state);
  block.state = no_page;
  --states_in_tree_;
}

/// A page that leaves the tree is free, or the request's alone, or nobody's until it has moved.
void SnapshotTree::give_up(PagePool& pool, SnapshotPage page) {
  if (pool.is_kept(page)) pool.set_node(page, no_node);
  else pool.free(page);
}

void SnapshotTree::unlink(SnapshotNode node) {
  SnapshotBlock& block = node_at(node);
  SnapshotBlock& above = node_at(block.parent);
  if (block.before == no_node) above.first_child = block.behind;
  else node_at(block.before).behind = block.behind;
  if (block.behind == no_node) above.last_child = block.before;
  else node_at(block.behind).before = block.before;
  --above.children;
  detach(node);
}

void SnapshotTree::detach(SnapshotNode node) {
  SnapshotBlock& block = node_at(node);
  if (block.page != no_page) give_up(pages_, block.page);
  if (block.state != no_page) drop_state(node, SnapshotChange::cut);
  by_key_.erase(block.key);
  --blocks_;
  tokens_ -= block.end - block.start;
  unused_.push_back(node);
}

void SnapshotTree::remove_subtree(SnapshotNode node) {
  std::vector<SnapshotNode> below;
  for (SnapshotNode child = at(node).first_child; child != no_node; child = at(child).behind) below.push_back(child);
  unlink(node);
  while (!below.empty()) {
    const SnapshotNode next = below.back();
    below.pop_back();
    for (SnapshotNode child = at(next).first_child; child != no_node; child = at(child).behind) below.push_back(child);
    detach(next);
  }
}

void SnapshotTree::remove_if_empty(SnapshotNode node) {
  while (node != root && at(node).children == 0 && at(node).page == no_page && at(node).state == no_page) {
    const SnapshotNode above = at(node).parent;
    unlink(node);
    node = above;
  }
}

void SnapshotTree::remove_if_stateless(SnapshotNode node) {
  while (node != root && at(node).children == 0 && at(node).state == no_page) {
    const SnapshotNode above = at(node).parent;
    unlink(node);
    node = above;
  }
}

}  // namespace hybridkv
