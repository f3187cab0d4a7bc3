#include "simulator/snapshots/snapshot_replay.h"

#include <algorithm>

#include "base/checked.h"

namespace hybridkv {

SnapshotReplay::SnapshotReplay(const SnapshotSettings& settings)
    : settings_((settings.check(), settings)),
      pages_(settings.blocks, settings.host_blocks),
      states_(settings.states, settings.host_states),
      tree_(settings.block_tokens, settings.partial_reuse, pages_, states_),
      eviction_(tree_, pages_, states_, settings.evicts_alone) {}

const SnapshotRecord& SnapshotReplay::run(const TraceRequest& request, std::span<const TokenRun> prompt) {
  record_ = {.index = request.index, .input_length = request.input_length};
  prompt_ = prompt;
  length_ = request.input_length;
  evicted_ = {};
  const SnapshotMatch match = tree_.match(prompt, length_ - 1);
  record_.attention_tokens = match.attention_tokens;
  record_.content_tokens = match.content_tokens;
  const std::vector<std::int64_t> points = points_of(match);
  if (!start(match)) {
    record_.status = RequestStatus::refused;
  } else {
    record_.hit_tokens = match.hit_tokens;
    if (!prefill(points)) record_.status = RequestStatus::refused;
    stop_committing();
    if (record_.status == RequestStatus::ok && settings_.decodes) {
      record_.generated = std::max<std::int64_t>(1, request.output_length);
      if (!decode(record_.generated - 1)) record_.status = RequestStatus::stalled;
    }
  }
  release();
  record_.evicted_blocks = evicted_.blocks;
  record_.evicted_states = evicted_.states;
  fill_held(record_);
  return record_;
}

SnapshotRecord SnapshotReplay::turned_away(const TraceRequest& request) const {
  SnapshotRecord record{.index = request.index, .input_length = request.input_length};
  fill_held(record);
  record.status = RequestStatus::too_long;
  return record;
}

void SnapshotReplay::fill_held(SnapshotRecord& record) const {
  record.free_blocks = pages_.num_free();
  record.free_states = states_.num_free();
  record.free_host_blocks = pages_.num_free(PageLevel::host);
  record.free_host_states = states_.num_free(PageLevel::host);
  record.tree_blocks = tree_.num_blocks();
  record.tree_tokens = tree_.num_tokens();
  record.tree_states = tree_.num_states();
}

std::vector<std::int64_t> SnapshotReplay::points_of(const SnapshotMatch& match) {
  const SnapshotPoints& wanted = settings_.points;
  std::vector<std::int64_t> points;
  if (wanted.interval_tokens > 0)
    for (std::int64_t point = wanted.interval_tokens; point <= length_; point += wanted.interval_tokens)
      points.push_back(point);
  for (const std::int64_t offset : wanted.from_start)
    if (offset <= length_) points.push_back(offset);
  for (const std::int64_t offset : wanted.from_end)
    if (length_ - offset > 0) points.push_back(length_ - offset);
  if (wanted.at_branches) {
    if (points.empty()) points.push_back(length_);
    const std::int64_t branch = match.content_tokens / settings_.block_tokens * settings_.block_tokens;
    if (match.content_tokens < length_ - 1 && branch > match.hit_tokens) {
      points.push_back(branch);
      record_.branch_tokens = branch;
    }
  }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  points.erase(points.begin(), std::upper_bound(points.begin(), points.end(), match.hit_tokens));
  return points;
}

bool SnapshotReplay::take(std::int64_t states, std::int64_t blocks) {
  return eviction_.make_room(states, blocks, evicted_);
}

bool SnapshotReplay::start(const SnapshotMatch& match) {
  const std::int64_t hit = match.hit_tokens, whole = hit / settings_.block_tokens;
  const bool is_partial = hit % settings_.block_tokens != 0;
  computed_ = hit;
  committed_ = static_cast<std::size_t>(whole);
  committed_tokens_ = hit;
  std::vector<SnapshotPage> sources;
  for (std::int64_t block = 0; block < whole + (is_partial ? 1 : 0); ++block)
    sources.push_back(tree_.at(match.path[static_cast<std::size_t>(block)].node).page);
  for (const SnapshotPage page : sources) pages_.hold(page);
  const SnapshotPage source_state = hit > 0 ? tree_.at(match.state_node).state : no_page;
  if (source_state != no_page) {
    states_.hold(source_state);
    record_.states_used = tree_.use_state(match.state_node) ? 1 : 0;
  }
  bool taken = may_start(std::ssize(sources)) && take(1, is_partial ? 1 : 0);
  held_.assign(sources.begin(), sources.begin() + whole);
  if (taken) {
    running_ = states_.take();
    if (is_partial) held_.push_back(pages_.take());
    taken = bring_back(sources, source_state);
  }
  if (taken) copy_sources(source_state, is_partial ? sources.back() : no_page);
  if (is_partial) pages_.let_go(sources.back());
  if (source_state != no_page) states_.let_go(source_state);
  return taken;
}

/// With a host what is held may still move there, so that none of it counts as used.
bool SnapshotReplay::may_start(std::int64_t held_blocks) const {
  if (settings_.has_host()) return true;
  return static_cast<double>(held_blocks) <= settings_.most_used * static_cast<double>(settings_.blocks);
}

bool SnapshotReplay::bring_back(const std::vector<SnapshotPage>& pages, SnapshotPage state) {
  if (!settings_.has_host()) return true;
  const auto is_away = [](const PagePool& pool, SnapshotPage page) { return pool.level_of(page) == PageLevel::host; };
  std::vector<SnapshotPage> queued;
  for (const SnapshotPage page : pages) {
    if (pages_.is_idle(page)) queued.push_back(page);
    pages_.lock(page);
  }
  const bool state_queued = state != no_page && states_.is_idle(state);
  if (state != no_page) states_.lock(state);
  const std::int64_t away = std::count_if(pages.begin(), pages.end(),
                                          [&](SnapshotPage page) { return is_away(pages_, page); });
  const std::int64_t away_states = state != no_page && is_away(states_, state) ? 1 : 0;
  if (!take(away_states, away)) {
    for (const SnapshotPage page : queued) pages_.queue(page);
    if (state_queued) states_.queue(state);
    return false;
  }
  record_.loaded_blocks += away;
  record_.loaded_states += away_states;
  for (const SnapshotPage page : pages) pages_.bring_back(page);
  if (state != no_page) states_.bring_back(state);
  return true;
}

void SnapshotReplay::copy_sources(SnapshotPage state, SnapshotPage part) {
  if (state != no_page && on_state_copy) on_state_copy(state, running_);
  if (part != no_page && on_page_copy) on_page_copy(part, held_.back());
}

bool SnapshotReplay::decode(std::int64_t tokens) {
  if (!grow_to(length_ + tokens)) return false;
  if (tokens > 0 && on_forward) on_forward(length_, length_ + tokens);
  return true;
}

bool SnapshotReplay::grow_to(std::int64_t tokens) {
  const std::int64_t more = ceil_div(tokens, settings_.block_tokens) - std::ssize(held_);
  if (more <= 0) return true;
  if (!take(0, more)) return false;
  for (std::int64_t i = 0; i < more; ++i) held_.push_back(pages_.take());
  return true;
}

bool SnapshotReplay::prefill(const std::vector<std::int64_t>& points) {
  auto point = points.begin();
  while (computed_ < length_) {
    const std::int64_t next = point == points.end() ? length_ : *point;
    const std::int64_t end = std::min(next, computed_ + settings_.chunk_tokens);
    if (!grow_to(end)) return false;
    if (on_forward) on_forward(computed_, end);
    computed_ = end;
    ++record_.num_chunks;
    if (point == points.end() || end < *point) continue;
    commit(end);
    ++record_.num_snapshots;
    record_.last_snapshot = end;
    ++point;
  }
  return true;
}

SnapshotNode SnapshotReplay::parent_of(std::size_t block) const {
  return block == 0 ? SnapshotTree::root : pages_.node_of(held_[block - 1]);
}

void SnapshotReplay::commit_block(std::size_t block, std::int64_t end) {
  const SnapshotNode parent = parent_of(block);
  SnapshotNode node = tree_.find(prompt_, end);
  const std::int64_t start = static_cast<std::int64_t>(block) * settings_.block_tokens;
  if (node == no_node) node = tree_.add(parent, prompt_, start, end);
  const SnapshotBlock& there = tree_.at(node);
  if (there.page == held_[block]) return;
  if (there.page != no_page && there.page_tokens == end - start) return share_page(block, there.page);
  tree_.set_page(node, held_[block], end - start);
}

void SnapshotReplay::share_page(std::size_t block, SnapshotPage page) {
  const SnapshotPage own = held_[block];
  pages_.lock(page);
  if (pages_.level_of(page) == PageLevel::host) {
    pages_.queue(own);  // until it is given back it may make the room itself
    const bool has_room = take(0, 1);
    pages_.lock(own);
    if (!has_room) return pages_.let_go(page);
    pages_.bring_back(page);
    ++record_.loaded_blocks;
  }
  pages_.free(own);
  held_[block] = page;
}

void SnapshotReplay::commit(std::int64_t tokens) {
  const std::int64_t block_tokens = settings_.block_tokens;
  const bool is_whole = tokens % block_tokens == 0;
  // Room for the copy is made before its block may be in the tree.
  const bool has_slot = is_whole && needs_state(tree_.find(prompt_, tokens), tokens) && take(1, 0);
  commit_blocks(tokens / block_tokens);
  committed_tokens_ = tokens;
  const SnapshotNode last = parent_of(committed_);
  if (!is_whole) keep_piece(last, tokens / block_tokens * block_tokens, tokens);
  else if (has_slot) keep_state(last, tokens);
}

void SnapshotReplay::commit_blocks(std::int64_t blocks) {
  for (std::size_t block = 0; block < committed_; ++block)
    if (pages_.node_of(held_[block]) == no_node) committed_ = block;
  for (; committed_ < static_cast<std::size_t>(blocks); ++committed_)
    commit_block(committed_, (static_cast<std::int64_t>(committed_) + 1) * settings_.block_tokens);
}

bool SnapshotReplay::needs_state(SnapshotNode node, std::int64_t tokens) const {
  return node == no_node || tree_.at(node).state == no_page || tree_.at(node).state_tokens < tokens;
}

void SnapshotReplay::keep_state(SnapshotNode node, std::int64_t tokens) {
  const SnapshotPage state = states_.take();
  if (on_state_copy) on_state_copy(running_, state);
  tree_.set_state(node, state, tokens);
  states_.release(state);
  ++record_.states_made;
}

void SnapshotReplay::keep_piece(SnapshotNode parent, std::int64_t start, std::int64_t end) {
  SnapshotNode node = tree_.find(prompt_, end);
  if (node == no_node) node = tree_.find_longer(parent, prompt_, start, end);
  if (node == no_node) node = tree_.add(parent, prompt_, start, end);
  const SnapshotBlock& block = tree_.at(node);
  const bool needs_page = block.page == no_page || block.page_tokens < end - start;
  const bool has_state = !needs_state(node, end);
  const PrefixKey key = block.key;
  if (!take(has_state ? 0 : 1, needs_page ? 1 : 0)) return tree_.remove_if_empty(node);
  if (tree_.find_key(key) != node) return;  // the room was made of it
  if (needs_page) {
    const SnapshotPage page = pages_.take();
    if (on_page_copy) on_page_copy(held_[static_cast<std::size_t>(start / settings_.block_tokens)], page);
    tree_.set_page(node, page, end - start);
    pages_.release(page);
  }
  if (!has_state) keep_state(node, end);
}

void SnapshotReplay::stop_committing() {
  const std::int64_t blocks = committed_tokens_ / settings_.block_tokens, start = blocks * settings_.block_tokens;
  if (start == committed_tokens_ || record_.num_snapshots == 0) return;
  if (tree_.find(prompt_, committed_tokens_) != no_node) return;
  commit_blocks(blocks);
  const SnapshotNode parent = parent_of(committed_);
  if (tree_.find_longer(parent, prompt_, start, committed_tokens_) != no_node) return;
  tree_.set_page(tree_.add(parent, prompt_, start, committed_tokens_), held_[committed_], committed_tokens_ - start);
}

void SnapshotReplay::release() {
  for (auto page = held_.rbegin(); page != held_.rend(); ++page) pages_.let_go(*page);
  held_.clear();
  if (running_ != no_page) states_.free(running_);
  running_ = no_page;
}

}  // namespace hybridkv
