#include "simulator/tree/tree_actions.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "simulator/trace/generated_content.h"

namespace hybridkv {

namespace {

/// Most output tokens that admission reckons with (SGLang CLIP_MAX_NEW_TOKENS).
constexpr std::int64_t most_reckoned_output = 4096;

RadixTree::Settings tree_settings(const TreeSettings& settings) {
  settings.check();
  return {.token_slots = settings.token_slots,
          .state_slots = settings.state_slots,
          .page = settings.page,
          .has_states = settings.has_states(),
          .max_states_per_path = settings.max_states_per_path,
          .numbers_pages = settings.numbers_pages,
          .host = settings.host};
}

}  // namespace

std::int64_t reckoned_output(std::int64_t tokens) { return std::min(tokens, most_reckoned_output); }

TreeActions::TreeActions(const TreeSettings& settings)
    : tree_(tree_settings(settings)),
      settings_(settings),
      grid_(settings.checkpoint_grid()),
      decode_grid_(settings.decode_grid()) {}

TreeActions::Counted TreeActions::counted() const {
  return {tree_.evictions(), tree_.num_used_states(), tree_.num_trimmed_states()};
}

void TreeActions::book(TreeRecord& record, const Counted& before) const {
  const Counted now = counted();
  record.evicted_tokens += now.evictions.tokens - before.evictions.tokens;
  record.evicted_states += now.evictions.states - before.evictions.states;
  record.evicted_unused_states += now.evictions.unused_states - before.evictions.unused_states;
  record.states_used += now.used_states - before.used_states;
  record.states_trimmed += now.trimmed_states - before.trimmed_states;
}

void TreeActions::close(TreeRecord& record) const {
  record.free_tokens = tree_.token_pool().free_tokens();
  record.free_states = tree_.free_states().size();
  record.tree_tokens = tree_.num_tokens();
  record.tree_states = tree_.num_states();
}

void TreeActions::start(TreeRequest& request, const TraceRequest& traced, std::span<const TokenRun> content) const {
  expects(!content.empty() && content.back().end_token >= traced.input_length, "a request has content");
  TreeRecord& record = request.record;
  record.chunks.clear();
  record = {.index = traced.index, .input_length = traced.input_length, .chunks = std::move(record.chunks)};
  request.prompt_tokens = traced.input_length;
  request.output_tokens = settings_.decodes ? std::max<std::int64_t>(1, traced.output_length) : 1;
  request.computed_tokens = request.protected_tokens = request.tracked_tokens = 0;
  const std::int64_t end = Checked(request.prompt_tokens) + request.output_tokens;
  if (request.output_tokens > 1 && content.back().end_token < end) {
    request.own_content.assign(content.begin(), content.end());
    request.own_content.push_back(
        {end, generated_content(content.back().chain, traced.index, content.back().end_token)});
    content = request.own_content;
  }
  request.content = content;
}

bool TreeActions::admit(TreeRequest& request, double reserved) {
  const std::int64_t prompt = request.prompt_tokens;
  TreeRecord& record = request.record;
  TreeMatch match = tree_.match(request.content, prompt - 1);
  if (tree_.is_away(match.node)) load_back(request, match);
  const std::int64_t branch = match.kv_tokens - match.kv_tokens % grid_;
  request.branch_tokens = settings_.has_branches() && branch > match.hit_tokens ? branch : 0;
  if (record.retractions == 0) {
    record.hit_tokens = match.hit_tokens;
    record.kv_match_tokens = match.kv_tokens;
    record.branch_tokens = request.branch_tokens;
  }
  request.computed_tokens = request.protected_tokens = match.hit_tokens;
  lock(request, match.node, true);
  acted();
  if (settings_.has_states() && match.hit_tokens > 0) {
    // Copy on write: the found state is copied to the slot that the request will run in.
    if (request.active == 0) {
      if (tree_.free_states().size() == 0) tree_.evict_states(1);
      if (tree_.free_states().size() == 0) return false;
      request.active = tree_.free_states().pop_front();
    }
    copy_state(tree_.state_of(match.node), request.active);
    acted();
  }
  const std::int64_t reckoned =
      Checked(prompt - match.hit_tokens) + reckoned_output(request.output_tokens) + settings_.page;
  const std::int64_t room = tree_.token_pool().free_tokens() + tree_.evictable_tokens();
  return static_cast<double>(reckoned) < static_cast<double>(room) - reserved;
}

void TreeActions::load_back(TreeRequest& request, TreeMatch& match) {
  const TreeHostCounts before = tree_.host_counts();
  if (tree_.load_back(match.node, request.active)) {
    request.record.loaded_tokens += tree_.host_counts().loaded_tokens - before.loaded_tokens;
    request.record.loaded_states += tree_.host_counts().loaded_states - before.loaded_states;
    return;
  }
  // What was on the device may have lost its state to the attempt.
  const bool stays = !settings_.has_states() || tree_.has_state(match.device_node);
  match.node = stays ? match.device_node : tree_root;
  match.hit_tokens = stays ? match.device_tokens : 0;
}

std::int64_t TreeActions::missing_states(const TreeRequest& request) const {
  return (request.active == 0 ? 1 : 0) + settings_.tracking_slots() - std::ssize(request.tracking);
}

bool TreeActions::take_states(std::span<TreeRequest* const> batch) {
  if (!settings_.has_states()) return true;
  FreeQueue& free = tree_.free_states();
  std::int64_t missing = 0;
  for (const TreeRequest* const request : batch) missing += missing_states(*request);
  if (free.size() < missing) tree_.evict_states(missing - free.size());
  if (free.size() < missing) return false;
  for (TreeRequest* const request : batch) {
    if (request->active == 0) request->active = free.pop_front();
    while (std::ssize(request->tracking) < settings_.tracking_slots()) request->tracking.push_back(free.pop_front());
  }
  acted();
  return true;
}

bool TreeActions::take_pages(std::span<TreeRequest* const> batch) {
  const std::int64_t page = settings_.page;
  std::int64_t needed = 0, pages = 0;
  const auto pages_of = [&](const TreeRequest& request) {
    return ceil_div(request.chunk_end, page) - ceil_div(request.computed_tokens, page);
  };
  for (const TreeRequest* const request : batch) {
    needed += request->chunk_end - request->computed_tokens + (page > 1 ? page : 0);
    pages += pages_of(*request);
  }
  TokenPool& pool = tree_.token_pool();
  if (pool.free_tokens() < needed) tree_.evict_tokens(needed - pool.free_tokens());
  if (pool.free_pages() < pages) return false;
  for (TreeRequest* const request : batch) {
    const std::int64_t own = pages_of(*request);
    pool.take(own, request->rows);
    request->own_pages += own;
    request->computed_tokens = request->chunk_end;
  }
  acted();
  return true;
}

std::int64_t TreeActions::tracked_in(const TreeRequest& request, std::int64_t start, std::int64_t end) const {
  if (!settings_.has_tracking()) return end;
  if (end - start < grid_) return 0;
  const std::int64_t tracked = end - (end - start) % grid_;
  // The engine's further bound, which asks whether the chunk ends inside of one of the model's, excludes nothing: where
  // both the branch and its distance from the start (whole pages) are multiples of C, the start is one of G, and no
  // multiple of G lies behind the last.
  const std::int64_t branch = request.branch_tokens;
  const bool at_branch = branch > start && branch < end && (branch - start) % settings_.state_chunk() == 0;
  return at_branch ? branch : tracked;
}

void TreeActions::compute_chunk(TreeRequest& request, std::int64_t start) {
  const std::int64_t end = request.computed_tokens;
  if (request.record.retractions == 0) request.record.chunks.push_back(end - start);
  else request.record.recomputed_tokens += end - start;
  request.tracked_tokens = tracked_in(request, start, end);
  const bool tracks = settings_.has_tracking() && request.tracked_tokens > 0;
  forward({start, end, tracks ? request.tracked_tokens : 0, tracks ? request.tracking.back() : 0});
}

bool TreeActions::keep_chunk(TreeRequest& request, bool is_last) {
  if (request.tracked_tokens == 0) return true;
  StateSlot donated = 0;
  if (settings_.has_states()) {
    // The request goes on with its own slots: the tree is given a copy.
    donated = slot_for_copy(request);
    if (donated == 0) return false;
    copy_state(settings_.has_tracking() ? request.tracking.back() : request.active, donated);
  }
  const TreeInsertion kept = insert(request, request.tracked_tokens, donated, is_last);
  if (donated != 0 && !kept.took_state) tree_.free_states().push_back(donated);
  request.tracked_tokens = 0;
  const TreeNodeId before = request.node;
  const bool locked_state = request.locks_state;
  lock(request, kept.node, !settings_.skip_decode_lock);
  tree_.unlock(before);
  if (locked_state) tree_.unlock_state(before);
  acted();
  return true;
}

StateSlot TreeActions::slot_for_copy(TreeRequest& request) {
  FreeQueue& free = tree_.free_states();
  if (free.size() == 0) {
    // The state that the request locks has long been copied to its own slot.
    if (settings_.strategy == TreeStrategy::extra_buffer_lazy) unlock_state(request);
    tree_.evict_states(1);
  }
  return free.size() == 0 ? 0 : free.pop_front();
}

void TreeActions::take_decode_pages(TreeRequest& request, std::int64_t pages, std::int64_t tokens) {
  tree_.token_pool().take(pages, request.rows);
  request.own_pages += pages;
  request.computed_tokens += tokens;
  acted();
}

void TreeActions::compute_decode(TreeRequest& request, std::int64_t start) {
  const std::int64_t end = request.computed_tokens;
  const StateSlot slot = end % decode_grid_ == 0 ? next_tracking_slot(request) : 0;
  if (slot != 0) request.tracked_tokens = end;
  forward({start, end, slot == 0 ? 0 : end, slot});
}

StateSlot TreeActions::next_tracking_slot(TreeRequest& request) {
  if (!settings_.has_tracking()) return 0;
  if (settings_.strategy == TreeStrategy::extra_buffer_lazy) {
    // The second slot is taken for this step alone. Nothing is evicted for it: without one the state is written over
    // the slot that the request has.
    FreeQueue& free = tree_.free_states();
    if (free.size() > 0) {
      free.push_back(std::exchange(request.tracking.front(), free.pop_front()));
      acted();
    }
  }
  std::swap(request.tracking.front(), request.tracking.back());
  return request.tracking.back();
}

bool TreeActions::overwrites_in_flight(const TreeRequest& request) const {
  return settings_.step_ahead && settings_.decodes && settings_.strategy == TreeStrategy::extra_buffer_lazy &&
         (request.computed_tokens + 1) % decode_grid_ == 0 && tree_.free_states().size() == 0;
}

void TreeActions::finish(TreeRequest& request) {
  if (settings_.has_tracking()) {
    if (overwrites_in_flight(request)) return;
    if (request.tracked_tokens > 0 && insert(request, request.tracked_tokens, request.tracking.back()).took_state)
      request.tracking.pop_back();
  } else if (insert(request, request.computed_tokens, request.active).took_state) {
    request.active = 0;
  }
}

TreeInsertion TreeActions::insert(TreeRequest& request, std::int64_t tokens, StateSlot offered, bool is_use) {
  const std::int64_t whole = tokens - tokens % settings_.page;
  const TreeInsertion done =
      tree_.insert(request.content, tokens, offered, {request.protected_tokens, &request.rows, is_use});
  request.own_pages -= (whole - request.protected_tokens) / settings_.page;
  request.protected_tokens = whole;
  request.record.states_made += done.took_state ? 1 : 0;
  return done;
}

void TreeActions::lock(TreeRequest& request, TreeNodeId node, bool with_state) {
  tree_.lock(node);
  request.node = node;
  request.locks_state = with_state && tree_.has_state(node);
  if (request.locks_state) tree_.lock_state(node);
}

void TreeActions::unlock(TreeRequest& request) {
  tree_.unlock(request.node);
  unlock_state(request);
  request.node = tree_root;
}

void TreeActions::unlock_state(TreeRequest& request) {
  if (request.locks_state) tree_.unlock_state(request.node);
  request.locks_state = false;
}

void TreeActions::release(TreeRequest& request) {
  tree_.token_pool().give(request.own_pages, request.rows);
  request.own_pages = 0;
  request.rows.clear();
  FreeQueue& free = tree_.free_states();
  if (request.active != 0) free.push_back(std::exchange(request.active, 0));
  for (const StateSlot slot : request.tracking) free.push_back(slot);
  request.tracking.clear();
  unlock(request);
  request.computed_tokens = request.protected_tokens = 0;
  acted();
}

}  // namespace hybridkv
