#include "simulator/schedule/simulation.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/blocks/closed_form.h"
#include "simulator/schedule/trace_driver.h"

namespace hybridkv {

namespace {

constexpr std::size_t most_turns = 32;

/// A number of every pool, added up.
template <class Number>
std::int64_t over_arenas(const CacheManager& cache, Number&& number) {
  std::int64_t sum = 0;
  for (const BlockArena& pool : cache.pools()) sum += number(pool);
  return sum;
}

std::vector<ModelledRule> rules_in_play(const CacheGeometry& geometry, const DriverSpec& driver) {
  std::vector<ModelledRule> rules = modelled_rules(geometry);
  if (driver.kind == DriverKind::one_at_a_time) return rules;
  // Replays of engines with decoding requests and several at a time have no drafts and none that gave way.
  const bool covered = geometry.rules.blocks->covers_decoding();
  if (!covered) rules.push_back(ModelledRule::decode);
  if (covered && geometry.speculative_tokens > 0) rules.push_back(ModelledRule::draft_tokens);
  if (driver.kind == DriverKind::closed_loop && driver.in_flight == 1) return rules;
  if (!covered) rules.push_back(ModelledRule::several_in_flight);
  rules.push_back(ModelledRule::preemption);
  return rules;
}

}  // namespace

Simulation::Simulation(const CacheGeometry& geometry, const DriverSpec& driver,
                       std::function<void(const RequestRecord&)> on_record)
    : driver_(driver),
      on_record_(std::move(on_record)),
      scheduler_(geometry, driver.kind == DriverKind::one_at_a_time,
                 [this](const RequestRecord& ended) { record(ended); }),
      times_(driver.limits),
      trace_(std::make_unique<TraceDriver>(driver, std::vector<Replica*>{this})) {
  if (driver_.clock) scheduler_.count_batches(driver_.clock->windows());
  stats_.geometry = geometry;
  stats_.arenas.resize(static_cast<std::size_t>(geometry.num_arenas()));
  stats_.modelled = rules_in_play(geometry, driver_);
}

Simulation::~Simulation() = default;

void Simulation::consume(const TraceBatch& batch) { trace_->consume(batch); }

void Simulation::submit(const TraceRequest& request, std::span<const TokenRun> prompt) {
  ++stats_.requests;
  if (on_submit) on_submit(request, prompt);
  const std::optional<std::int64_t>& longest = stats_.geometry.scheduler.max_model_len;
  if (refused_for_length(request.input_length, longest)) return turn_away(request);
  stats_.taken_prompt_tokens += request.input_length;
  if (seen_) count_copy(request, prompt);
  TraceRequest submitted = request;
  if (longest && driver_.kind != DriverKind::one_at_a_time && request.output_length > *longest - request.input_length) {
    submitted.output_length = *longest - request.input_length;
    ++stats_.cut_outputs;
  }
  scheduler_.submit(submitted, prompt);
}

void Simulation::turn_away(const TraceRequest& request) {
  record({.index = request.index,
          .turn = request.turn,
          .input_length = request.input_length,
          .output_length = request.output_length,
          .arrival_seconds = request.arrival_seconds,
          .status = RequestStatus::too_long});
}

void Simulation::count_copy(const TraceRequest& request, std::span<const TokenRun> prompt) {
  const int copy = seen_->count(prefix_key(prompt.back().chain, request.input_length));
  if (copy < 2) return;
  const auto predicted = predicted_copy_hit(stats_.geometry, request.input_length, copy);
  if (predicted) predicted_hits_.emplace(request.index, *predicted);
}

// Requests that come later may find any step begun, so each is taken by itself.
void Simulation::step(double /*until*/) {
  const StepWork work = scheduler_.schedule(clock_);
  ++stats_.steps;
  sample();
  if (after_schedule) after_schedule();
  if (driver_.clock) {
    const StepParts parts = driver_.clock->parts(work.batch);
    times_.add_steps(parts, 1);
    clock_ += parts.total() * driver_.slowness;
  } else {
    clock_ += driver_.cost.step_seconds(work) * driver_.slowness;
  }
  scheduler_.complete(clock_);
  if (after_step) after_step();
}

double Simulation::usage() const {
  const auto held = over_arenas(scheduler_.cache(), [](const BlockArena& pool) { return pool.num_held(); });
  const auto all = over_arenas(scheduler_.cache(), [](const BlockArena& pool) { return pool.num_blocks() - 1; });
  return all > 0 ? static_cast<double>(held) / static_cast<double>(all) : 0;
}

void Simulation::sample() {
  const CacheManager& cache = scheduler_.cache();
  stats_.max_running = std::max(stats_.max_running, scheduler_.num_running());
  std::int64_t held = 0, held_states = 0;
  for (std::size_t arena = 0; arena < stats_.arenas.size(); ++arena) {
    const BlockArena& pool = cache.pools()[arena];
    std::int64_t& most = stats_.arenas[arena].max_held_blocks;
    most = std::max(most, pool.num_held());
    held += pool.num_held();
    held_states += pool.num_held(BlockKind::state);
  }
  stats_.max_held_blocks = std::max(stats_.max_held_blocks, held);
  stats_.max_held_state_blocks = std::max(stats_.max_held_state_blocks, held_states);
  if (!stats_.series.wants(stats_.steps)) return;
  const auto findable = [&](BlockKind kind) {
    return over_arenas(cache, [&](const BlockArena& pool) { return pool.num_findable(kind); });
  };
  stats_.series.add({.step = stats_.steps,
                     .seconds = clock_,
                     .ended_requests = stats_.requests - scheduler_.num_in_flight(),
                     .running_requests = scheduler_.num_running(),
                     .waiting_requests = scheduler_.num_waiting(),
                     .held_blocks = held,
                     .held_state_blocks = held_states,
                     .findable_blocks = findable(BlockKind::attention) + findable(BlockKind::state),
                     .findable_state_blocks = findable(BlockKind::state),
                     .prompt_tokens = ended_prompt_tokens_,
                     .hit_tokens = stats_.hit_tokens,
                     .evictions = cache.evictions()});
}

void Simulation::record(const RequestRecord& from_scheduler) {
  RequestRecord ended = from_scheduler;
  if (driver_.clock && ended.status == RequestStatus::ok) {
    // What lies between the client and the scheduler.
    ended.first_token_seconds += driver_.clock->first_token_seconds();
    ended.finish_seconds += driver_.clock->first_token_seconds();
    const RequestTimes served{.arrival = ended.arrival_seconds,
                              .admitted = ended.arrival_seconds + ended.queue_seconds,
                              .first_token = ended.arrival_seconds + ended.first_token_seconds,
                              .end = ended.arrival_seconds + ended.finish_seconds,
                              .prompt = ended.input_length,
                              .found = ended.hit_tokens,
                              .generated = ended.generated,
                              .index = ended.index};
    times_.add(served);
    if (on_served) on_served(served);
  }
  if (const auto copy = predicted_hits_.find(ended.index); copy != predicted_hits_.end()) {
    if (ended.status == RequestStatus::ok) {
      ++stats_.copies.requests;
      stats_.copies.prompt_tokens += ended.input_length;
      stats_.copies.predicted_tokens += copy->second;
      stats_.copies.simulated_tokens += ended.hit_tokens;
    }
    predicted_hits_.erase(copy);
  }
  if (ended.status != RequestStatus::too_long) ended_prompt_tokens_ += ended.input_length;
  stats_.refused += ended.status == RequestStatus::refused ? 1 : 0;
  stats_.too_long += ended.status == RequestStatus::too_long ? 1 : 0;
  stats_.stalled += ended.status == RequestStatus::stalled ? 1 : 0;
  stats_.generated_tokens += ended.generated;
  stats_.prefill_chunks += ended.num_chunks;
  stats_.preempted_requests += ended.preemptions > 0 ? 1 : 0;
  stats_.reprefilled_tokens += ended.reprefilled_tokens;
  if (ended.status == RequestStatus::ok) {
    stats_.prompt_tokens += ended.input_length;
    stats_.longest_prompt_tokens = std::max(stats_.longest_prompt_tokens, ended.input_length);
    stats_.hit_tokens += ended.hit_tokens;
    stats_.requests_with_hit += ended.hit_tokens > 0 ? 1 : 0;
    stats_.kv_match_tokens += ended.hit_tokens + ended.uncached_common;
    stats_.first_token.add(ended.first_token_seconds);
    stats_.queueing.add(ended.queue_seconds);
    const std::size_t turn = std::min(static_cast<std::size_t>(ended.turn), most_turns - 1);
    if (stats_.turns.size() <= turn) stats_.turns.resize(turn + 1);
    ++stats_.turns[turn].requests;
    stats_.turns[turn].prompt_tokens += ended.input_length;
    stats_.turns[turn].hit_tokens += ended.hit_tokens;
  }
  if (on_record_) on_record_(ended);
  if (on_end) on_end(ended.index, clock_);
}

SimulationStats Simulation::finish() {
  trace_->finish();
  return stats();
}

SimulationStats Simulation::stats() {
  stats_.preemptions = scheduler_.num_preemptions();
  stats_.copied_states = scheduler_.cache().copied_states();
  stats_.copied_attention_blocks = scheduler_.cache().copied_attention();
  for (std::size_t arena = 0; arena < stats_.arenas.size(); ++arena) {
    stats_.arenas[arena].pool = scheduler_.cache().pools()[arena].stats();
    stats_.pool += stats_.arenas[arena].pool;
  }
  stats_.checkpoints_made = stats_.pool.checkpoints_made;
  stats_.checkpoints_used = stats_.pool.checkpoints_used;
  stats_.checkpoints_evicted = stats_.pool.checkpoints_evicted;
  stats_.host = scheduler_.cache().host_stats();
  stats_.seconds = clock_;
  if (driver_.clock) stats_.times = times_;
  return stats_;
}

}  // namespace hybridkv
