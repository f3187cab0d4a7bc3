#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "clock/drafts.h"
#include "clock/step_shape.h"
#include "simulator/blocks/cache_manager.h"
#include "simulator/schedule/request_record.h"
#include "simulator/schedule/step_work.h"
#include "simulator/trace/trace.h"

namespace hybridkv {

/// A request between submission and end.
struct ActiveRequest {
  RequestRecord record;
  RequestBlocks blocks;
  std::vector<PrefixKey> keys;        ///< chain hash at every match unit of the known content
  std::uint64_t generated_chain = 0;  ///< chain of the tokens it generates: content of their own
  std::int64_t known_tokens = 0;      ///< prompt and generated tokens
  std::int64_t prefill_tokens = 0;    ///< what is to be prefilled: the prompt, after a preemption with its output
  std::int64_t computed_tokens = 0;
  std::int64_t scheduled_tokens = 0;  ///< of the step under way
  std::int64_t branch_tokens = 0;     ///< its branch point, see BlockSteps::branch; 0 = none
  std::int64_t lost_tokens = 0;       ///< computed before its last preemption
  double owed_tokens = 0;             ///< drafts that came true in the mean and are not generated yet
  bool admitted_before = false;
  /// Tokens known and computed when it last gave way though nobody else ran (BlockSteps::gives_way_to_itself).
  std::pair<std::int64_t, std::int64_t> stuck_at = {-1, -1};
  bool prefilling() const { return computed_tokens < prefill_tokens; }
};

/// The engine's scheduler, step by step (vLLM KVCacheManager and Scheduler).
///
/// Running requests are served first, in the order of admission, then waiting ones while the budget lasts. A running
/// request that finds too few blocks preempts the one admitted last, which waits at the front of the queue to be
/// prefilled again with what it had generated; nobody is admitted in a step that preempted. Deterministic.
///
/// In vLLM 0.33 a request that runs alone may preempt itself too, and is stalled once that brings it no further; so is
/// the first one of several that no step brings further. One that is admitted with a single token left gets the rows of
/// its drafter's tokens besides.
///
/// Where drafts come true (SchedulerSettings::acceptance), a step yields as many tokens as are expected of it, the same
/// in every replay: fractions are carried on until they sum up to a token. A step ends where the engine may keep a
/// state, and what it still owed comes with the next.
class Scheduler {
 public:
  /// `prefill_only`: a request ends with its prompt. The record of every request that ended goes to `on_end`.
  Scheduler(const CacheGeometry& geometry, bool prefill_only, std::function<void(const RequestRecord&)> on_end);

  const CacheManager& cache() const { return cache_; }
  /// CacheManager::tell
  void tell(KeyListener& listener) { cache_.tell(listener); }
  std::int64_t num_running() const { return static_cast<std::int64_t>(running_.size()); }
  std::int64_t num_waiting() const { return static_cast<std::int64_t>(waiting_.size()); }
  std::int64_t num_in_flight() const { return num_running() + num_waiting(); }
  std::int64_t num_preemptions() const { return preemptions_; }
  /// Tokens of waiting and running requests that are to be prefilled and are not yet.
  std::int64_t waiting_tokens() const;
  /// From now on steps say what they compute, for a clock whose model has these windows.
  void count_batches(const std::array<std::int64_t, most_windows>& windows) { windows_ = windows; }
  /// What the step that was just scheduled computes, a part for each request in it.
  std::vector<ShapePart> step_parts() const;
  /// Running requests in the order of admission.
  std::span<const std::unique_ptr<ActiveRequest>> running() const { return running_; }

  /// A request joins the waiting queue.
  void submit(const TraceRequest& request, std::span<const TokenRun> prompt);

  /// Schedules one step that starts at `now`: takes blocks and publishes them.
  StepWork schedule(double now);
  /// Ends the step at `now`: tokens are computed, finished requests give back their blocks.
  void complete(double now);

  /// Where set, called after a look-up of a request that was not admitted before, ahead of its admission.
  std::function<void(const ActiveRequest&, const PrefixHit&)> after_look_up;
  /// Called just before a finished request gives back its blocks.
  std::function<void(const ActiveRequest&)> before_release;

 private:
  friend struct CachePeek;

  CachedPrompt prompt_of(const ActiveRequest& request) const {
    return {request.keys, cache_.steps().follows_known() ? request.known_tokens : request.prefill_tokens,
            request.record.input_length};
  }
  // Keys of all that `tokens` tokens make known, those generated included.
  void extend_keys(ActiveRequest& request, std::int64_t tokens) const;
  // What decides how many tokens to compute next of a request that is computed or found up to `start`.
  ChunkQuestion asked_of(const ActiveRequest& request, std::int64_t start, std::int64_t branch) const;
  // Is a request that runs alone and lacks blocks bound to get no further, however often it is preempted and starts
  // anew?
  bool is_stalled(ActiveRequest& request) const;
  // Drafts of a decoding request that come true in this step.
  std::int64_t true_drafts(ActiveRequest& request) const;
  // Makes tokens known that a drafter proposed; forgets them where the step is not taken.
  void know_drafts(ActiveRequest& request, std::int64_t tokens) const;
  void forget_drafts(ActiveRequest& request, std::int64_t tokens) const;
  // Ends the first waiting request, for which no blocks will ever become free; returns true.
  bool end_unserved(StepWork& work, double now);
  // Ends the first running request after a step that computed nothing although it had the whole budget. The request
  // would get nothing in the next step either, while others that lack its blocks preempt themselves again and again.
  // This happens in vLLM 0.33 with chunks of one block: a drafter of several modules must leave a longer rest, so such
  // a chunk shrinks to nothing.
  void end_stuck(StepWork& work, double now);
  bool serve_running(std::int64_t& budget, StepWork& work, double now);
  void serve_waiting(std::int64_t& budget, StepWork& work, double now);
  bool admit_first_waiting(std::int64_t& budget, StepWork& work, double now);
  void preempt_last();
  void count(const ActiveRequest& request, StepWork& work) const;
  void end(std::unique_ptr<ActiveRequest> request, RequestStatus status, double now);
  std::unique_ptr<ActiveRequest> fresh_request();

  CacheManager cache_;
  std::int64_t unit_;  // tokens of a match unit
  bool prefill_only_;
  std::function<void(const RequestRecord&)> on_end_;
  std::vector<std::unique_ptr<ActiveRequest>> running_;
  std::deque<std::unique_ptr<ActiveRequest>> waiting_;
  std::vector<std::unique_ptr<ActiveRequest>> ended_;  // kept for reuse
  std::int64_t preemptions_ = 0;
  Drafts drafts_;
  std::int64_t lookahead_;           // tokens that keys look ahead
  std::optional<std::array<std::int64_t, most_windows>> windows_;  // where batches are counted
  bool served_running_ = false;      // of the step under way: was a running request scheduled,
  bool served_inside_prompt_ = false;// and one inside its prompt
};

}  // namespace hybridkv
