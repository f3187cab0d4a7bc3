#include "clock/rank_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace hybridkv {

void RankLoop::submit(const LoopRequest& request) {
  waiting_.push_back({.index = request.index,
                      .prompt = request.prompt,
                      .outputs = request.outputs,
                      .computed = request.prefilled ? request.prompt : request.found,
                      .found = request.found,
                      .load_seconds = request.load_seconds,
                      .prefilled = request.prefilled});
}

std::int64_t RankLoop::waiting_tokens() const {
  std::int64_t tokens = 0;
  for (const Active& request : waiting_) tokens += request.prompt - request.computed;
  for (const Active& request : running_) tokens += request.prompt - request.computed;
  return tokens;
}

double RankLoop::held_by(const Active& request) const {
  return rules_.request_tokens +
         static_cast<double>(rules_.reserves_outputs ? request.prompt + request.outputs : request.tokens());
}

bool RankLoop::fits(const Active& request) const {
  return rules_.cache_tokens <= 0 || running_.empty() || held_ + held_by(request) <= rules_.cache_tokens;
}

// Steps that all decoding requests can take before the cache is full, with room for the rows of their drafts.
std::int64_t RankLoop::steps_that_fit() const {
  if (rules_.cache_tokens <= 0 || rules_.reserves_outputs || decoding_ == 0)
    return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::max(0.0, rules_.cache_tokens - held_) /
                                   static_cast<double>(decoding_ * rules_.drafts.rows()));
}

// Tokens behind a prompt after so many steps of generating. What a step yields is no whole number: its fractions come
// when they sum up to a token.
std::int64_t RankLoop::generated_after(std::int64_t steps) const {
  constexpr double rounding = 1e-9;
  return 1 + static_cast<std::int64_t>(std::floor(static_cast<double>(steps) * tokens_a_step_ + rounding));
}

std::int64_t RankLoop::steps_to_end(const Active& request) const {
  auto steps = static_cast<std::int64_t>(static_cast<double>(request.outputs - 1) / tokens_a_step_);
  while (generated_after(steps) < request.outputs) ++steps;
  return steps - request.steps;
}

// Those admitted last give way until the others can take a step; they are computed again with what they had. Did any?
bool RankLoop::make_room() {
  const std::int64_t before = num_running();
  while (steps_that_fit() < 1 && running_.size() > 1) {
    Active last = running_.back();
    running_.pop_back();
    held_ -= held_by(last);
    if (last.decodes()) --decoding_;
    last.outputs -= last.generated;
    last.prompt += last.generated;
    last.generated = last.steps = 0;
    last.computed = last.found;
    last.prefilled = false;
    waiting_.push_front(last);
    ++seen_;
  }
  return num_running() < before;
}

void RankLoop::admit(const LoopEvents& events) {
  Active& request = running_.emplace_back(waiting_.front());
  waiting_.pop_front();
  --seen_;
  if (request.prefilled) {
    request.generated = 1;
    ++decoding_;
  }
  held_ += held_by(request);
  double& loads = rules_.loads_by_layer ? prompts_.loaded_beside_seconds : prompts_.loaded_seconds;
  loads += std::exchange(request.load_seconds, 0);
  if (events.on_admission && !request.began) events.on_admission(request.index);
}

// Tokens of prompts that a step takes beside what generates.
std::int64_t RankLoop::prompt_budget() const {
  return rules_.budget - (rules_.prompts_alone ? 0 : decoding_ * rules_.drafts.rows());
}

// Does this request's prompt get a part of these tokens? One that no step could take whole is cut all the same.
bool RankLoop::has_room(const Active& request, std::int64_t tokens) const {
  const std::int64_t left = request.prompt - request.computed;
  return tokens > 0 && (!rules_.whole_prompts || left <= tokens || left > rules_.budget);
}

// Tokens of the prompts that the next step could admit beside what runs.
std::int64_t RankLoop::admissible_tokens() const {
  const std::int64_t budget = prompt_budget();
  std::int64_t tokens = 0, running = num_running();
  double held = held_;
  for (std::int64_t i = 0; i < seen_ && running < rules_.most_running; ++i, ++running) {
    const Active& request = waiting_[static_cast<std::size_t>(i)];
    held += held_by(request);
    if (!has_room(request, budget - tokens) || (rules_.cache_tokens > 0 && held > rules_.cache_tokens)) break;
    tokens += std::min(budget - tokens, request.prompt - request.computed);
  }
  return tokens;
}

// Has it a prompt to compute, one at which it is or one that it could admit?
bool RankLoop::has_prompts() const { return num_running() > decoding_ || admissible_tokens() > 0; }

// Do prompts wait in this step until there are more of them? Only while something generates meanwhile.
bool RankLoop::waits_for_company() {
  if (rules_.wait_steps == 0 || decoding_ == 0) return false;
  const std::int64_t prompts = admissible_tokens();
  if (prompts == 0) return false;
  const auto tokens = static_cast<double>(prompts + decoding_ * rules_.drafts.rows());
  if (waited_ < rules_.wait_steps && tokens < rules_.wait_share * static_cast<double>(rules_.budget)) return true;
  waited_ = 0;
  return false;
}

// Puts tokens of prompts into the step: of running requests first, then of waiting ones.
void RankLoop::take_prompts(bool admits, const LoopEvents& events) {
  std::int64_t budget = prompt_budget();
  const auto take = [&](Active& request) {
    const std::int64_t tokens = std::min(budget, request.prompt - request.computed);
    const auto q = static_cast<double>(tokens), c = static_cast<double>(request.computed);
    budget -= tokens;
    add_prompt(prompts_, q, c, windows_);
    request.computed += tokens;
    if (request.computed == request.prompt) prompts_.sampled += 1;
  };
  for (Active& request : running_)
    if (budget > 0 && request.computed < request.prompt) take(request);
  while (admits && seen_ > 0 && has_room(waiting_.front(), budget) && num_running() < rules_.most_running &&
         fits(waiting_.front())) {
    admit(events);
    if (!running_.back().prefilled) take(running_.back());
  }
}

void RankLoop::look() {
  if (since_poll_ < rules_.poll_steps && !running_.empty()) return;
  seen_ = num_waiting();
  since_poll_ = 0;
}

void RankLoop::next(bool admits, const LoopEvents& events) {
  // Nobody is admitted in a step in which somebody gave way.
  gave_way_ = make_room();
  admits = admits && !gave_way_;
  waits_ = admits && waits_for_company();
  prompts_ = {};
  take_prompts(admits && !waits_, events);
  decodes_ = !(prompts_.prompts > 0 && rules_.prompts_alone);
}

std::int64_t RankLoop::most_steps() const {
  if (prompts_.prompts > 0 || gave_way_) return 1;
  std::int64_t steps = std::max<std::int64_t>(1, steps_that_fit());
  for (const Active& request : running_) {
    if (!request.began) return 1;  // its first token is told when this step ends
    steps = std::min(steps, steps_to_end(request));
  }
  if (seen_ < num_waiting()) steps = std::min(steps, std::max<std::int64_t>(1, rules_.poll_steps - since_poll_));
  // As what generates grows, those that wait may come not to fit: their wait is then not counted.
  const bool keep_fitting = rules_.cache_tokens <= 0 || rules_.reserves_outputs;
  if (waits_) steps = std::min(steps, keep_fitting ? rules_.wait_steps - waited_ : 1);
  return steps;
}

StepBatch RankLoop::middle(std::int64_t steps) const {
  StepBatch batch = prompts_;
  if (!decodes_) return batch;
  const double grown = tokens_a_step_ * static_cast<double>(steps - 1) / 2;
  for (const Active& request : running_)
    if (request.decodes())
      add_decode(batch, static_cast<double>(request.tokens()) + grown, windows_, rules_.drafts.tokens);
  return batch;
}

void RankLoop::complete(std::int64_t steps, const LoopEvents& events) {
  if (waits_) waited_ += steps;
  // As if each step were taken by itself: arrivals are looked at every poll_steps steps, whether or not any wait.
  since_poll_ = prompts_.prompts > 0 ? rules_.poll_steps : (since_poll_ + steps - 1) % rules_.poll_steps + 1;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Active& request = running_[i];
    const double before = held_by(request);
    if (request.decodes()) {
      if (decodes_) {
        // Of a prompt that was computed elsewhere, the first token is told with the next one.
        if (!std::exchange(request.began, true) && events.on_first_token) events.on_first_token(request.index);
        request.steps += steps;
        request.generated = std::min(request.outputs, generated_after(request.steps));
      }
    } else if (request.computed == request.prompt) {
      request.generated = 1;
      ++decoding_;
      if (!std::exchange(request.began, true) && events.on_first_token) events.on_first_token(request.index);
    }
    held_ += held_by(request) - before;
    if (request.generated >= request.outputs) {
      held_ -= held_by(request);
      --decoding_;
      if (events.on_end) events.on_end(request.index);
    } else {
      running_[kept++] = request;
    }
  }
  running_.resize(kept);
}

}  // namespace hybridkv
