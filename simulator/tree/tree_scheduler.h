#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "simulator/schedule/step_work.h"
#include "simulator/trace/trace.h"
#include "simulator/tree/tree_actions.h"

namespace hybridkv {

/// Several requests at once through a dual pool with a radix tree, step by step (SGLang 0.5.23 Scheduler, PrefillAdder:
/// read, not run).
///
/// A step computes prompts or decodes, never both. Prompts go first: the one under way, then waiting ones in their
/// order while the budget of a step and the pools last; one at a time is cut into chunks. A request is admitted where
/// the pool has room for its prompt and its output beside what is promised to others; of those that decode only a share
/// of what they may still generate is, and the share falls from step to step. Where a decode finds no page the requests
/// that have generated least give all back and wait again. Deterministic; with one request in flight it is TreeReplay.
class TreeScheduler : public TreeActions {
 public:
  /// Throws SpecError for unusable settings. The record of every request goes to `on_end` as it ends.
  TreeScheduler(const TreeSettings& settings, std::function<void(const TreeRecord&)> on_end);

  std::int64_t num_running() const { return std::ssize(running_) + std::ssize(batch_) + (chunked_ ? 1 : 0); }
  std::int64_t num_waiting() const { return std::ssize(waiting_); }
  /// Tokens of requests in flight that are to be prefilled and are not yet.
  std::int64_t waiting_tokens() const;
  std::int64_t num_in_flight() const { return num_running() + num_waiting(); }
  /// All in flight; those that wait hold nothing.
  std::vector<const TreeRequest*> requests() const;

  /// A request joins the waiting queue.
  void submit(const TraceRequest& request, std::span<const TokenRun> prompt);
  /// Schedules one step: takes slots and pages.
  StepWork schedule();
  /// Ends the step: the tree gets what was computed, finished requests give back what they hold.
  void complete();

 private:
  using Request = std::unique_ptr<TreeRequest>;

  // Tokens that the pool can still promise.
  double room() const;
  // Requests for a prefill: the one whose prompt is under way, and waiting ones.
  void form_batch();
  void continue_chunk();
  // False where no more requests are asked in this step.
  bool admit_first();
  void add_to_batch(Request request, std::int64_t tokens);
  void prefill(StepWork& work);
  bool take_for(std::span<TreeRequest* const> batch);
  void decode(StepWork& work);
  // Is there a page, once leaves have made room, for every request that needs one in the next step?
  bool has_decode_room();
  // Makes room by eviction, which is booked to the request.
  void evict_for(TreeRequest& request, std::int64_t tokens);
  void retract(StepWork& work);
  void retract_last();
  void complete_prefill();
  void complete_decode();
  bool keep(TreeRequest& request, bool is_last);
  void end_computed(Request request);
  void end(Request request, RequestStatus status);

  std::function<void(const TreeRecord&)> on_end_;
  std::deque<Request> waiting_;
  std::vector<Request> running_;  // that decode
  std::vector<Request> batch_;    // whose prompts are computed in the step under way
  Request chunked_;               // whose prompt goes on in the next step
  double output_share_;           // of what running requests may still generate, that is promised to them
  double promised_ = 0;           // tokens, in the step under way
  std::int64_t budget_ = 0;       // tokens of prompts, in the step under way
  bool is_full_ = false;          // nobody is asked until somebody leaves
};

}  // namespace hybridkv
