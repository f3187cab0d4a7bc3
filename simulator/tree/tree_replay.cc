#include "simulator/tree/tree_replay.h"

#include <fmt/format.h>

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

std::string tree_csv_row(const TreeRecord& record, bool has_states) {
  const auto states = [&](std::int64_t count) { return has_states ? fmt::to_string(count) : std::string(); };
  std::string chunks;
  for (const std::int64_t chunk : record.chunks) chunks += fmt::format("{}{}", chunks.empty() ? "" : "+", chunk);
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}", record.index, record.input_length,
                     record.status == RequestStatus::refused ? -1 : record.hit_tokens, record.kv_match_tokens,
                     record.branch_tokens > 0 ? fmt::to_string(record.branch_tokens) : std::string(),
                     record.chunks.size(), chunks, record.evicted_tokens,
                     record.evicted_states, record.free_tokens, states(record.free_states), record.tree_tokens,
                     states(record.tree_states), to_string(record.status));
}

TreeReplay::TreeReplay(const TreeSettings& settings)
    : settings_(settings),
      tree_(tree_settings(settings)),
      grid_(settings.checkpoint_grid()),
      decode_grid_(settings.decode_grid()) {}

const TreeRecord& TreeReplay::run(const TraceRequest& request, std::span<const TokenRun> content) {
  const TreeEvictions before = tree_.evictions();
  const std::int64_t used_before = tree_.num_used_states(), trimmed_before = tree_.num_trimmed_states();
  start(request, content);
  if (!admit()) {
    record_.status = RequestStatus::refused;
  } else if (!prefill() || !decode()) {
    record_.status = RequestStatus::stalled;
  } else {
    finish();
  }
  release();
  record_.evicted_tokens = tree_.evictions().tokens - before.tokens;
  record_.evicted_states = tree_.evictions().states - before.states;
  record_.evicted_unused_states = tree_.evictions().unused_states - before.unused_states;
  record_.states_used = tree_.num_used_states() - used_before;
  record_.states_trimmed = tree_.num_trimmed_states() - trimmed_before;
  record_.free_tokens = tree_.token_pool().free_tokens();
  record_.free_states = tree_.free_states().size();
  record_.tree_tokens = tree_.num_tokens();
  record_.tree_states = tree_.num_states();
  return record_;
}

void TreeReplay::start(const TraceRequest& request, std::span<const TokenRun> content) {
  expects(!content.empty() && content.back().end_token >= request.input_length, "a request has content");
  record_.chunks.clear();
  record_ = {.index = request.index, .input_length = request.input_length, .chunks = std::move(record_.chunks)};
  request_.prompt_tokens = request.input_length;
  request_.output_tokens = settings_.decodes ? std::max<std::int64_t>(1, request.output_length) : 1;
  request_.computed_tokens = request_.protected_tokens = request_.tracked_tokens = 0;
  const std::int64_t end = Checked(request_.prompt_tokens) + request_.output_tokens;
  if (request_.output_tokens > 1 && content.back().end_token < end) {
    content_.assign(content.begin(), content.end());
    content_.push_back({end, generated_content(content.back().chain, request.index, content.back().end_token)});
    content = content_;
  }
  request_.content = content;
}

bool TreeReplay::admit() {
  const std::int64_t prompt = request_.prompt_tokens;
  TreeMatch match = tree_.match(request_.content, prompt - 1);
  if (tree_.is_away(match.node)) load_back(match);
  record_.hit_tokens = match.hit_tokens;
  record_.kv_match_tokens = match.kv_tokens;
  const std::int64_t branch = match.kv_tokens - match.kv_tokens % grid_;
  if (settings_.has_branches() && branch > match.hit_tokens) record_.branch_tokens = branch;
  request_.computed_tokens = request_.protected_tokens = match.hit_tokens;
  lock(match.node);
  acted();
  if (settings_.has_states() && match.hit_tokens > 0) {
    // Copy on write: the found state is copied to the slot that the request will run in.
    if (request_.active == 0) {
      if (tree_.free_states().size() == 0) tree_.evict_states(1);
      if (tree_.free_states().size() == 0) return false;
      request_.active = tree_.free_states().pop_front();
    }
    copy_state(tree_.state_of(match.node), request_.active);
    acted();
  }
  const std::int64_t reckoned =
      Checked(prompt - match.hit_tokens) + std::min(request_.output_tokens, most_reckoned_output) + settings_.page;
  return reckoned < tree_.token_pool().free_tokens() + tree_.evictable_tokens();
}

void TreeReplay::load_back(TreeMatch& match) {
  const TreeHostCounts before = tree_.host_counts();
  if (tree_.load_back(match.node, request_.active)) {
    record_.loaded_tokens = tree_.host_counts().loaded_tokens - before.loaded_tokens;
    record_.loaded_states = tree_.host_counts().loaded_states - before.loaded_states;
    return;
  }
  // What was on the device may have lost its state to the attempt.
  const bool stays = !settings_.has_states() || tree_.has_state(match.device_node);
  match.node = stays ? match.device_node : tree_root;
  match.hit_tokens = stays ? match.device_tokens : 0;
}

std::int64_t TreeReplay::chunk_end() const {
  // Hits and budgets are whole pages, so the engine's rounding of the first chunk changes nothing.
  const std::int64_t rest = request_.prompt_tokens - request_.computed_tokens;
  return request_.computed_tokens + std::min(rest, settings_.chunk_tokens);
}

bool TreeReplay::take_states() {
  if (!settings_.has_states()) return true;
  FreeQueue& free = tree_.free_states();
  const std::int64_t missing =
      (request_.active == 0 ? 1 : 0) + settings_.tracking_slots() - std::ssize(request_.tracking);
  if (free.size() < missing) tree_.evict_states(missing - free.size());
  if (free.size() < missing) return false;
  if (request_.active == 0) request_.active = free.pop_front();
  while (std::ssize(request_.tracking) < settings_.tracking_slots()) request_.tracking.push_back(free.pop_front());
  acted();
  return true;
}

bool TreeReplay::take_pages(std::int64_t end) {
  const std::int64_t start = request_.computed_tokens, page = settings_.page;
  const std::int64_t needed = end - start + (page > 1 ? page : 0);
  TokenPool& pool = tree_.token_pool();
  if (pool.free_tokens() < needed) tree_.evict_tokens(needed - pool.free_tokens());
  const std::int64_t pages = ceil_div(end, page) - ceil_div(start, page);
  if (pool.free_pages() < pages) return false;
  pool.take(pages, request_.rows);
  request_.own_pages += pages;
  request_.computed_tokens = end;
  acted();
  return true;
}

std::int64_t TreeReplay::tracked_in(std::int64_t start, std::int64_t end) const {
  if (!settings_.has_tracking()) return end;
  if (end - start < grid_) return 0;
  const std::int64_t tracked = end - (end - start) % grid_;
  // The engine's further bound, which asks whether the chunk ends inside of one of the model's, excludes nothing: where
  // both the branch and its distance from the start (whole pages) are multiples of C, the start is one of G, and no
  // multiple of G lies behind the last.
  const std::int64_t branch = record_.branch_tokens;
  const bool at_branch = branch > start && branch < end && (branch - start) % settings_.state_chunk() == 0;
  return at_branch ? branch : tracked;
}

bool TreeReplay::prefill() {
  while (request_.computed_tokens < request_.prompt_tokens) {
    const std::int64_t start = request_.computed_tokens, end = chunk_end();
    if (!take_states() || !take_pages(end)) return false;
    record_.chunks.push_back(end - start);
    request_.tracked_tokens = tracked_in(start, end);
    const bool tracks = settings_.has_tracking() && request_.tracked_tokens > 0;
    forward({start, end, tracks ? request_.tracked_tokens : 0, tracks ? request_.tracking.back() : 0});
    const bool is_last = end == request_.prompt_tokens;
    if (!(is_last && request_.output_tokens == 1) && !keep_chunk(is_last)) return false;
  }
  return true;
}

bool TreeReplay::keep_chunk(bool is_last) {
  if (request_.tracked_tokens == 0) return true;
  StateSlot donated = 0;
  if (settings_.has_states()) {
    // The request goes on with its own slots: the tree is given a copy.
    if (tree_.free_states().size() == 0) tree_.evict_states(1);
    if (tree_.free_states().size() == 0) return false;
    donated = tree_.free_states().pop_front();
    copy_state(settings_.has_tracking() ? request_.tracking.back() : request_.active, donated);
  }
  const TreeInsertion kept = insert(request_.tracked_tokens, donated, is_last);
  if (donated != 0 && !kept.took_state) tree_.free_states().push_back(donated);
  request_.tracked_tokens = 0;
  const TreeNodeId before = request_.node;
  const bool locked_state = request_.locks_state;
  lock(kept.node);
  tree_.unlock(before);
  if (locked_state) tree_.unlock_state(before);
  acted();
  return true;
}

bool TreeReplay::decode() {
  const std::int64_t end = request_.prompt_tokens + request_.output_tokens - 1;
  if (settings_.skip_decode_lock && request_.locks_state && request_.output_tokens > 1) {
    tree_.unlock_state(request_.node);
    request_.locks_state = false;
  }
  while (request_.computed_tokens < end) {
    const std::int64_t start = request_.computed_tokens;
    const std::int64_t next = start + decode_grid_ - start % decode_grid_;
    if (!decode_to(std::min(next, end))) return false;
    const StateSlot slot = next <= end ? next_tracking_slot() : 0;
    if (slot != 0) request_.tracked_tokens = next;
    forward({start, request_.computed_tokens, slot == 0 ? 0 : next, slot});
  }
  record_.generated = settings_.decodes ? request_.output_tokens : 0;
  return true;
}

bool TreeReplay::decode_to(std::int64_t tokens) {
  TokenPool& pool = tree_.token_pool();
  const std::int64_t page = settings_.page;
  while (request_.computed_tokens < tokens) {
    // Every step asks for a page, whether or not it begins one.
    if (pool.free_pages() == 0) tree_.evict_tokens(page);
    const std::int64_t in_page = round_up(request_.computed_tokens, page) - request_.computed_tokens;
    if (in_page > 0) {
      request_.computed_tokens = std::min(tokens, request_.computed_tokens + in_page);
      continue;
    }
    if (pool.free_pages() == 0) return false;
    const std::int64_t wanted = page > 1 ? 1 : std::min(pool.free_pages(), tokens - request_.computed_tokens);
    pool.take(wanted, request_.rows);
    request_.own_pages += wanted;
    request_.computed_tokens += page > 1 ? 1 : wanted;
    acted();
  }
  return true;
}

StateSlot TreeReplay::next_tracking_slot() {
  if (!settings_.has_tracking()) return 0;
  if (settings_.strategy == TreeStrategy::extra_buffer_lazy) {
    // The second slot is taken for this step alone. Nothing is evicted for it: without one the state is written over
    // the slot that the request has.
    FreeQueue& free = tree_.free_states();
    if (free.size() > 0) {
      free.push_back(std::exchange(request_.tracking.front(), free.pop_front()));
      acted();
    }
  }
  std::swap(request_.tracking.front(), request_.tracking.back());
  return request_.tracking.back();
}

void TreeReplay::forward(const TreeForward& computed) {
  if (on_forward) on_forward(computed);
}

bool TreeReplay::overwrites_in_flight() const {
  return settings_.step_ahead && settings_.decodes && settings_.strategy == TreeStrategy::extra_buffer_lazy &&
         (request_.computed_tokens + 1) % decode_grid_ == 0 && tree_.free_states().size() == 0;
}

void TreeReplay::finish() {
  if (settings_.has_tracking()) {
    if (overwrites_in_flight()) return;
    if (request_.tracked_tokens > 0 && insert(request_.tracked_tokens, request_.tracking.back()).took_state)
      request_.tracking.pop_back();
  } else if (insert(request_.computed_tokens, request_.active).took_state) {
    request_.active = 0;
  }
}

TreeInsertion TreeReplay::insert(std::int64_t tokens, StateSlot offered, bool is_use) {
  const std::int64_t whole = tokens - tokens % settings_.page;
  const TreeInsertion done =
      tree_.insert(request_.content, tokens, offered, {request_.protected_tokens, &request_.rows, is_use});
  request_.own_pages -= (whole - request_.protected_tokens) / settings_.page;
  request_.protected_tokens = whole;
  record_.states_made += done.took_state ? 1 : 0;
  return done;
}

void TreeReplay::lock(TreeNodeId node) {
  tree_.lock(node);
  request_.node = node;
  request_.locks_state = tree_.has_state(node);
  if (request_.locks_state) tree_.lock_state(node);
}

void TreeReplay::unlock() {
  tree_.unlock(request_.node);
  if (request_.locks_state) tree_.unlock_state(request_.node);
  request_.node = tree_root;
  request_.locks_state = false;
}

void TreeReplay::release() {
  tree_.token_pool().give(request_.own_pages, request_.rows);
  request_.own_pages = 0;
  request_.rows.clear();
  FreeQueue& free = tree_.free_states();
  if (request_.active != 0) free.push_back(std::exchange(request_.active, 0));
  for (const StateSlot slot : request_.tracking) free.push_back(slot);
  request_.tracking.clear();
  unlock();
  request_.computed_tokens = request_.protected_tokens = 0;
  acted();
}

}  // namespace hybridkv
