#include "simulator/tree/tree_scheduler.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace hybridkv {

namespace {

// SGLANG_INIT_NEW_TOKEN_RATIO, its least part, and the steps that it takes to fall there.
constexpr double first_output_share = 0.7, least_output_share = 0.7 * 0.14;
constexpr double fall_of_share = (first_output_share - least_output_share) / 600;
/// Steps of a decode for which a retraction makes room (SGLANG_RETRACT_DECODE_STEPS).
constexpr std::int64_t retracted_steps = 20;

/// Tokens that a decoding request has generated since its last prefill.
std::int64_t generated_since_prefill(const TreeRequest& request) {
  return request.computed_tokens - request.prompt_tokens + 1;
}

}  // namespace

TreeScheduler::TreeScheduler(const TreeSettings& settings, std::function<void(const TreeRecord&)> on_end)
    : TreeActions(settings), on_end_(std::move(on_end)), output_share_(first_output_share) {}

std::vector<const TreeRequest*> TreeScheduler::requests() const {
  std::vector<const TreeRequest*> all;
  for (const Request& request : waiting_) all.push_back(request.get());
  for (const auto* const list : {&running_, &batch_})
    for (const Request& request : *list)
      if (request) all.push_back(request.get());
  if (chunked_) all.push_back(chunked_.get());
  return all;
}

std::int64_t TreeScheduler::waiting_tokens() const {
  std::int64_t tokens = 0;
  for (const TreeRequest* const request : requests())
    tokens += std::max<std::int64_t>(0, request->prompt_tokens - request->computed_tokens);
  return tokens;
}

void TreeScheduler::submit(const TraceRequest& request, std::span<const TokenRun> prompt) {
  if (num_in_flight() == 0) output_share_ = first_output_share;
  waiting_.push_back(std::make_unique<TreeRequest>());
  TreeRequest& waiting = *waiting_.back();
  start(waiting, request, prompt);
  if (waiting.own_content.empty()) waiting.own_content.assign(prompt.begin(), prompt.end());
  waiting.content = waiting.own_content;
}

StepWork TreeScheduler::schedule() {
  StepWork work;
  if (running_.empty()) is_full_ = false;
  if (chunked_ || (!is_full_ && !waiting_.empty())) form_batch();
  if (!batch_.empty()) {
    prefill(work);
  } else if (!running_.empty()) {
    decode(work);
  } else if (!waiting_.empty()) {
    // Nobody holds anything, and still it does not fit.
    Request request = std::move(waiting_.front());
    waiting_.pop_front();
    end(std::move(request), RequestStatus::refused);
    ++work.ended;
  }
  return work;
}

double TreeScheduler::room() const {
  return static_cast<double>(tree_.token_pool().free_tokens() + tree_.evictable_tokens()) - promised_;
}

void TreeScheduler::form_batch() {
  budget_ = settings().chunk_tokens;
  promised_ = 0;
  for (const Request& request : running_) {
    const std::int64_t rest = request->output_tokens - generated_since_prefill(*request);
    promised_ += static_cast<double>(reckoned_output(rest)) * output_share_;
  }
  if (chunked_) continue_chunk();
  while (!waiting_.empty() && budget_ > 0 && admit_first()) {
  }
}

void TreeScheduler::continue_chunk() {
  const std::int64_t page = settings().page;
  const std::int64_t rest = chunked_->prompt_tokens - chunked_->computed_tokens;
  // A prompt under way has to go on even where all is promised. Chunks end between pages, as states do.
  const auto unpromised = static_cast<std::int64_t>(std::max(0.0, room())) / page * page;
  const std::int64_t allowed = unpromised > 0 ? std::min(budget_, unpromised) : budget_;
  add_to_batch(std::move(chunked_), std::min(rest, allowed));
}

bool TreeScheduler::admit_first() {
  if (num_running() >= settings().max_running) {
    is_full_ = true;
    return false;
  }
  TreeRequest& first = *waiting_.front();
  const Counted before = counted();
  const bool fits = admit(first, promised_);
  book(first.record, before);
  const std::int64_t page = settings().page, rest = first.prompt_tokens - first.computed_tokens;
  const bool whole = round_up(rest, page) <= budget_;
  const bool others_chunk = !batch_.empty() && batch_.front()->chunk_end < batch_.front()->prompt_tokens;
  if (!fits) is_full_ = !batch_.empty() || !running_.empty();
  if (!fits || (!whole && others_chunk)) {
    release(first);
    return false;
  }
  Request request = std::move(waiting_.front());
  waiting_.pop_front();
  add_to_batch(std::move(request), whole ? rest : budget_);
  if (room() <= 0) is_full_ = true;
  return room() > 0;
}

void TreeScheduler::add_to_batch(Request request, std::int64_t tokens) {
  const std::int64_t page = settings().page, pages = round_up(tokens, page);
  request->chunk_end = request->computed_tokens + tokens;
  const bool ends_prompt = request->chunk_end == request->prompt_tokens;
  promised_ += static_cast<double>(pages + page + (ends_prompt ? reckoned_output(request->output_tokens) : 0));
  budget_ -= pages;
  batch_.push_back(std::move(request));
}

bool TreeScheduler::take_for(std::span<TreeRequest* const> batch) {
  const Counted before = counted();
  const bool taken = take_states(batch) && take_pages(batch);
  book(batch.front()->record, before);
  return taken;
}

void TreeScheduler::prefill(StepWork& work) {
  std::vector<TreeRequest*> members;
  std::vector<std::int64_t> starts;
  for (const Request& request : batch_) {
    members.push_back(request.get());
    starts.push_back(request->computed_tokens);
  }
  // Admission rules this out but for pools with fewer slots than its requests may hold; an engine would stop.
  while (!members.empty() && !take_for(members)) {
    members.pop_back();
    Request last = std::move(batch_.back());
    batch_.pop_back();
    end(std::move(last), RequestStatus::stalled);
    ++work.ended;
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    compute_chunk(*members[i], starts[i]);
    work.prefill_tokens += members[i]->chunk_end - starts[i];
  }
}

void TreeScheduler::evict_for(TreeRequest& request, std::int64_t tokens) {
  const std::int64_t free = tree_.token_pool().free_tokens();
  if (free >= tokens) return;
  const Counted before = counted();
  tree_.evict_tokens(tokens - free);
  book(request.record, before);
}

bool TreeScheduler::has_decode_room() {
  const std::int64_t page = settings().page;
  const auto needed = std::count_if(running_.begin(), running_.end(), [&](const Request& request) {
    return request->computed_tokens % page == 0;
  });
  evict_for(*running_.front(), needed * page);
  return tree_.token_pool().free_pages() >= needed;
}

void TreeScheduler::decode(StepWork& work) {
  if (has_decode_room()) output_share_ = std::max(output_share_ - fall_of_share, least_output_share);
  else retract(work);
  const std::int64_t page = settings().page;
  // Every request asks for a page, whether or not it begins one.
  if (!running_.empty()) evict_for(*running_.front(), std::ssize(running_) * page);
  for (const Request& request : running_) {
    const std::int64_t start = request->computed_tokens;
    if (start % page == 0) take_decode_pages(*request, 1, 1);
    else ++request->computed_tokens;
    compute_decode(*request, start);
    ++work.decoded_requests;
  }
}

void TreeScheduler::retract(StepWork& work) {
  const auto generated = [](const Request& request) {
    return request->record.generated + generated_since_prefill(*request);
  };
  std::stable_sort(running_.begin(), running_.end(), [&](const Request& a, const Request& b) {
    return std::pair(generated(b), a->record.input_length) < std::pair(generated(a), b->record.input_length);
  });
  do {
    if (running_.size() == 1) break;
    retract_last();
  } while (!has_decode_room());
  if (running_.size() == 1 && !has_decode_room()) {
    Request last = std::move(running_.back());
    running_.pop_back();
    end(std::move(last), RequestStatus::stalled);
    ++work.ended;
  }
  is_full_ = false;
  std::int64_t done = 0, asked = 0;
  for (const Request& request : running_) {
    done += generated(request) + retracted_steps;
    asked += request->record.generated + request->output_tokens;
  }
  output_share_ = std::min(1.0, static_cast<double>(done) / static_cast<double>(asked + 1));
}

void TreeScheduler::retract_last() {
  Request request = std::move(running_.back());
  running_.pop_back();
  const std::int64_t generated = generated_since_prefill(*request);
  request->record.generated += generated;
  ++request->record.retractions;
  request->prompt_tokens += generated;
  request->output_tokens -= generated;
  request->tracked_tokens = 0;
  release(*request);
  evict_for(*request, std::ssize(running_) * retracted_steps);
  waiting_.push_back(std::move(request));
}

void TreeScheduler::complete() {
  if (!batch_.empty()) complete_prefill();
  else complete_decode();
}

void TreeScheduler::complete_prefill() {
  for (Request& request : batch_) {
    if (request->prefilling()) {
      chunked_ = std::move(request);
    } else if (request->output_tokens == 1) {
      end_computed(std::move(request));
    } else if (keep(*request, true)) {
      running_.push_back(std::move(request));
    } else {
      end(std::move(request), RequestStatus::stalled);
    }
  }
  batch_.clear();
  if (!chunked_) return;
  is_full_ = false;
  if (!keep(*chunked_, false)) end(std::move(chunked_), RequestStatus::stalled);
}

bool TreeScheduler::keep(TreeRequest& request, bool is_last) {
  const Counted before = counted();
  const bool kept = keep_chunk(request, is_last);
  book(request.record, before);
  return kept;
}

void TreeScheduler::complete_decode() {
  for (Request& request : running_)
    if (request->computed_tokens == request->last_computed()) end_computed(std::move(request));
  std::erase(running_, nullptr);
}

void TreeScheduler::end_computed(Request request) {
  if (settings().decodes) request->record.generated += request->output_tokens;
  const Counted before = counted();
  finish(*request);
  book(request->record, before);
  end(std::move(request), RequestStatus::ok);
}

void TreeScheduler::end(Request request, RequestStatus status) {
  is_full_ = false;
  release(*request);
  request->record.status = status;
  close(request->record);
  if (on_end_) on_end_(request->record);
}

}  // namespace hybridkv
