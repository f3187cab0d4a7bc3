#include "simulator/schedule/scheduler.h"

#include <algorithm>
#include <utility>

#include "simulator/blocks/block_rules.h"
#include "simulator/trace/generated_content.h"

namespace hybridkv {

Scheduler::Scheduler(const CacheGeometry& geometry, bool prefill_only,
                     std::function<void(const RequestRecord&)> on_end)
    : cache_(geometry),
      unit_(geometry.match_unit()),
      prefill_only_(prefill_only),
      on_end_(std::move(on_end)),
      drafts_{geometry.speculative_tokens, geometry.scheduler.acceptance},
      lookahead_(geometry.rules.blocks->lookahead_tokens(geometry)) {}

std::unique_ptr<ActiveRequest> Scheduler::fresh_request() {
  if (ended_.empty()) {
    auto request = std::make_unique<ActiveRequest>();
    request->blocks = cache_.make_request();
    return request;
  }
  std::unique_ptr<ActiveRequest> request = std::move(ended_.back());
  ended_.pop_back();
  return request;
}

std::int64_t Scheduler::waiting_tokens() const {
  std::int64_t tokens = 0;
  for (const auto& request : waiting_) tokens += request->prefill_tokens;
  for (const auto& request : running_)
    tokens += std::max<std::int64_t>(0, request->prefill_tokens - request->computed_tokens);
  return tokens;
}

void Scheduler::submit(const TraceRequest& traced, std::span<const TokenRun> prompt) {
  expects(!prompt.empty() && prompt.back().end_token == traced.input_length, "the runs of a prompt make its length");
  std::unique_ptr<ActiveRequest> request = fresh_request();
  request->record = {.index = traced.index,
                     .turn = traced.turn,
                     .input_length = traced.input_length,
                     .output_length = traced.output_length,
                     .arrival_seconds = traced.arrival_seconds};
  prefix_keys(prompt, unit_, request->keys, lookahead_);
  request->generated_chain = generated_content(prompt.back().chain, traced.index, traced.input_length);
  request->known_tokens = request->prefill_tokens = traced.input_length;
  request->computed_tokens = request->scheduled_tokens = request->branch_tokens = request->lost_tokens = 0;
  request->admitted_before = false;
  request->owed_tokens = 0;
  request->stuck_at = {-1, -1};
  waiting_.push_back(std::move(request));
}

void Scheduler::extend_keys(ActiveRequest& request, std::int64_t tokens) const {
  for (auto units = static_cast<std::int64_t>(request.keys.size()) + 1; units * unit_ + lookahead_ <= tokens; ++units)
    request.keys.push_back(prefix_key(request.generated_chain, units * unit_));
}

StepWork Scheduler::schedule(double now) {
  cache_.begin_step();
  StepWork work;
  const std::int64_t copied_before = cache_.copied_states();
  const auto host_before = windows_ ? cache_.host_stats() : std::nullopt;
  const double loaded_before = host_before ? host_before->load_seconds : 0;
  std::int64_t budget = cache_.geometry().max_num_batched_tokens;
  for (const auto& request : running_) request->scheduled_tokens = 0;
  served_running_ = served_inside_prompt_ = false;
  if (serve_running(budget, work, now)) serve_waiting(budget, work, now);
  if (work.idle() && !running_.empty()) end_stuck(work, now);
  work.copied_states = cache_.copied_states() - copied_before;
  if (windows_) {
    const std::int64_t groups = std::max<std::int64_t>(1, cache_.geometry().state_groups);
    work.batch.copied_states = static_cast<double>(work.copied_states) / static_cast<double>(groups);
    if (const auto host = cache_.host_stats()) work.batch.loaded_seconds = host->load_seconds - loaded_before;
  }
  return work;
}

void Scheduler::count(const ActiveRequest& request, StepWork& work) const {
  if (request.prefilling()) {
    work.prefill_tokens += request.scheduled_tokens;
  } else {
    ++work.decoded_requests;
  }
  if (!windows_) return;
  const auto before = static_cast<double>(request.computed_tokens);
  if (!request.prefilling()) {
    add_decode(work.batch, before + 1, *windows_, drafts_.tokens);
    return;
  }
  add_prompt(work.batch, static_cast<double>(request.scheduled_tokens), before, *windows_);
  if (request.computed_tokens + request.scheduled_tokens >= request.prefill_tokens) work.batch.sampled += 1;
}

std::vector<ShapePart> Scheduler::step_parts() const {
  std::vector<ShapePart> parts;
  for (const auto& request : running_) {
    if (request->scheduled_tokens == 0) continue;
    ShapePart part{.query = request->scheduled_tokens, .context = request->computed_tokens};
    if (!request->prefilling()) {
      part.query = drafts_.rows();
      part.drafts = drafts_.tokens;
    } else {
      part.found = part.context > 0 && part.context == request->record.hit_tokens;
    }
    parts.push_back(part);
  }
  return parts;
}

ChunkQuestion Scheduler::asked_of(const ActiveRequest& request, std::int64_t start, std::int64_t branch) const {
  return {.start = start,
          .tokens = prompt_of(request).tokens,
          .prompt = request.record.input_length,
          .branch = branch,
          .requests = num_in_flight(),
          .runs_beside = served_running_,
          .prefills_beside = served_inside_prompt_};
}

bool Scheduler::is_stalled(ActiveRequest& request) const {
  if (!cache_.steps().gives_way_to_itself()) return true;
  const std::pair at{request.known_tokens, request.computed_tokens};
  return std::exchange(request.stuck_at, std::max(at, request.stuck_at)) >= at;
}

std::int64_t Scheduler::true_drafts(ActiveRequest& request) const {
  if (drafts_.acceptance == 0 || drafts_.tokens == 0) return 0;
  request.owed_tokens += drafts_.tokens_of_step() - 1;
  constexpr double rounding = 1e-9;
  std::int64_t tokens = std::min(static_cast<std::int64_t>(request.owed_tokens + rounding), drafts_.tokens);
  // The step yields one token more than these.
  tokens = std::min(tokens, request.record.output_length - request.record.generated - 1);
  if (cache_.geometry().aligns_chunks()) {
    const std::int64_t step = cache_.geometry().checkpoint_step();
    tokens = std::min(tokens, step - request.computed_tokens % step - 1);
  }
  tokens = std::max<std::int64_t>(0, tokens);
  request.owed_tokens -= static_cast<double>(tokens);
  return tokens;
}

void Scheduler::know_drafts(ActiveRequest& request, std::int64_t tokens) const {
  request.known_tokens += tokens;
  request.record.generated += tokens;
  if (tokens > 0) extend_keys(request, request.known_tokens);
}

void Scheduler::forget_drafts(ActiveRequest& request, std::int64_t tokens) const {
  request.known_tokens -= tokens;
  request.record.generated -= tokens;
  request.owed_tokens += static_cast<double>(tokens);
  while (!request.keys.empty() && std::ssize(request.keys) * unit_ + lookahead_ > request.known_tokens)
    request.keys.pop_back();
}

bool Scheduler::serve_running(std::int64_t& budget, StepWork& work, double now) {
  const std::int64_t preemptions_before = preemptions_;
  for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
    ActiveRequest& request = *running_[i];
    std::int64_t drafted = request.prefilling() ? 0 : true_drafts(request);
    know_drafts(request, drafted);
    const std::int64_t chunk =
        request.prefilling()
            ? cache_.steps().next_chunk(asked_of(request, request.computed_tokens, request.branch_tokens), budget)
            : 1 + drafted;
    if (chunk == 0) continue;
    const std::int64_t evictions_before = cache_.evictions();
    bool fits = false;
    while (!(fits = cache_.advance(request.blocks, prompt_of(request), request.computed_tokens, chunk,
                                   request.branch_tokens))) {
      // Nobody else is left to give way, so this step is not taken.
      if (running_.size() == i + 1) forget_drafts(request, std::exchange(drafted, 0));
      if (running_.size() == 1 && is_stalled(request)) {
        // The whole cache is too small for this one request: an engine would preempt and prefill it for ever.
        std::unique_ptr<ActiveRequest> stalled = std::move(running_.back());
        running_.pop_back();
        end(std::move(stalled), RequestStatus::stalled, now);
        ++work.ended;
        break;
      }
      const bool itself = running_.size() == i + 1;
      preempt_last();
      if (itself) break;
    }
    if (!fits) break;
    request.scheduled_tokens = chunk;
    served_running_ = true;
    served_inside_prompt_ = served_inside_prompt_ || request.prefilling();
    request.record.evictions += cache_.evictions() - evictions_before;
    if (request.prefilling() && request.record.preemptions == 0) ++request.record.num_chunks;
    // Rows of drafts take their part of a step, whether or not they come true.
    budget -= request.prefilling() || drafts_.acceptance == 0 ? chunk : drafts_.rows();
    count(request, work);
  }
  return preemptions_ == preemptions_before;
}

void Scheduler::preempt_last() {
  std::unique_ptr<ActiveRequest> request = std::move(running_.back());
  running_.pop_back();
  cache_.release(request->blocks);
  ++preemptions_;
  ++request->record.preemptions;
  request->lost_tokens = request->computed_tokens;
  request->computed_tokens = request->scheduled_tokens = 0;
  request->prefill_tokens = request->known_tokens;
  waiting_.push_front(std::move(request));
}

void Scheduler::serve_waiting(std::int64_t& budget, StepWork& work, double now) {
  while (budget > 0 && !waiting_.empty() && num_running() < cache_.geometry().scheduler.most_running() &&
         admit_first_waiting(budget, work, now)) {
  }
}

bool Scheduler::admit_first_waiting(std::int64_t& budget, StepWork& work, double now) {
  ActiveRequest& request = *waiting_.front();
  const PrefixHit hit = cache_.look_up(request.blocks, prompt_of(request));
  if (after_look_up && !request.admitted_before) after_look_up(request, hit);
  const BlockSteps& steps = cache_.steps();
  const std::int64_t branch = steps.branch(hit);
  const std::int64_t chunk = steps.first_chunk(asked_of(request, hit.tokens, branch), hit, budget);
  if (chunk == 0) {
    request.blocks.clear();
    // Alone it has the whole budget, and never a larger one.
    return running_.empty() && end_unserved(work, now);
  }
  const std::int64_t evictions_before = cache_.evictions();
  if (!cache_.admit(request.blocks, prompt_of(request), hit, chunk, !running_.empty())) {
    request.blocks.clear();
    // Nobody else will ever give back a block.
    return running_.empty() && end_unserved(work, now);
  }
  request.branch_tokens = branch;
  request.computed_tokens = hit.tokens;
  request.scheduled_tokens = chunk;
  request.record.evictions += cache_.evictions() - evictions_before;
  if (!request.admitted_before) {
    request.admitted_before = true;
    request.record.hit_tokens = hit.tokens;
    request.record.uncached_common = hit.uncached_common;
    request.record.queue_seconds = now - request.record.arrival_seconds;
  }
  if (request.record.preemptions == 0) ++request.record.num_chunks;
  request.record.reprefilled_tokens += std::max<std::int64_t>(0, request.lost_tokens - hit.tokens);
  request.lost_tokens = 0;
  budget -= chunk;
  count(request, work);
  running_.push_back(std::move(waiting_.front()));
  waiting_.pop_front();
  return true;
}

void Scheduler::end_stuck(StepWork& work, double now) {
  std::unique_ptr<ActiveRequest> stuck = std::move(running_.front());
  running_.erase(running_.begin());
  end(std::move(stuck), RequestStatus::stalled, now);
  ++work.ended;
}

bool Scheduler::end_unserved(StepWork& work, double now) {
  std::unique_ptr<ActiveRequest> unserved = std::move(waiting_.front());
  waiting_.pop_front();
  const RequestStatus status = unserved->admitted_before ? RequestStatus::stalled : RequestStatus::refused;
  end(std::move(unserved), status, now);
  ++work.ended;
  return true;
}

void Scheduler::complete(double now) {
  cache_.end_step();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    ActiveRequest& request = *running_[i];
    // Rows beyond what is known were a drafter's, and none of its tokens is ever right.
    request.computed_tokens =
        std::min(request.computed_tokens + std::exchange(request.scheduled_tokens, 0), request.known_tokens);
    bool finished = false;
    if (request.computed_tokens == request.known_tokens) {
      // Everything known is computed: the step yields one more token.
      if (request.record.generated == 0) request.record.first_token_seconds = now - request.record.arrival_seconds;
      const std::int64_t wanted = prefill_only_ ? 0 : request.record.output_length;
      if (request.record.generated < wanted) {
        ++request.record.generated;
        ++request.known_tokens;
        extend_keys(request, request.known_tokens);
      }
      if (cache_.steps().follows_known()) {
        // The token just sampled is known also to those who want none.
        extend_keys(request, request.computed_tokens + 1);
        cache_.publish_sampled(request.blocks, prompt_of(request), request.computed_tokens, request.branch_tokens);
      }
      finished = request.record.generated >= wanted;
    }
    if (finished) {
      end(std::move(running_[i]), RequestStatus::ok, now);
    } else {
      if (kept != i) running_[kept] = std::move(running_[i]);
      ++kept;
    }
  }
  running_.resize(kept);
}

void Scheduler::end(std::unique_ptr<ActiveRequest> request, RequestStatus status, double now) {
  request->record.status = status;
  request->record.finish_seconds = now - request->record.arrival_seconds;
  if (before_release) before_release(*request);
  cache_.release(request->blocks);
  on_end_(request->record);
  ended_.push_back(std::move(request));
}

}  // namespace hybridkv
