// How much of a request a step computes with the rules of vLLM 0.33 (Scheduler.schedule).
#include <algorithm>

#include "simulator/scheduler.h"

namespace hybridkv {

std::int64_t Scheduler::next_chunk_033(const ActiveRequest& request, std::int64_t start, std::int64_t shared,
                                       std::int64_t budget) const {
  const CacheGeometry& geometry = cache_.geometry();
  const std::int64_t threshold = geometry.scheduler.long_prefill_threshold;
  std::int64_t tokens = std::min(request.known_tokens - start, budget);
  // A request that is alone gets all of the budget.
  if (threshold > 0 && num_in_flight() > 1) tokens = std::min(tokens, threshold);
  // A drafter of several modules computes its last tokens in one go.
  const std::int64_t rest = request.known_tokens - start - tokens, modules = geometry.rules.lookahead_tokens;
  if (0 < rest && rest < modules && tokens > modules - rest) tokens -= modules - rest;
  if (!geometry.aligns_chunks()) return tokens;
  const std::int64_t most =
      threshold > 0 ? std::min(geometry.max_num_batched_tokens, threshold) : geometry.max_num_batched_tokens;
  return cut_chunk(*cache_.positions(),
                   {start, start + tokens, request.record.input_length, request.known_tokens, shared}, most) -
         start;
}

std::int64_t Scheduler::first_chunk_033(const ActiveRequest& request, const PrefixHit& hit,
                                        std::int64_t budget) const {
  const CacheGeometry& geometry = cache_.geometry();
  const std::int64_t shared = junction(geometry, hit), rows = 1 + geometry.speculative_tokens;
  const bool padded = rows > 1 && request.known_tokens - hit.tokens == 1 && !served_inside_prompt_ &&
                      (hit.tokens > 0 || served_running_);
  if (!padded) return next_chunk_033(request, hit.tokens, shared, budget);
  if (budget < rows) return 0;
  if (!geometry.aligns_chunks()) return rows;
  const ComputedChunk chunk{hit.tokens, hit.tokens + rows, request.record.input_length, request.known_tokens, shared};
  return cut_chunk(*cache_.positions(), chunk, geometry.max_num_batched_tokens) == chunk.end ? rows : 1;
}

bool Scheduler::is_stalled(ActiveRequest& request) const {
  if (!cache_.positions()) return true;
  const std::pair at{request.known_tokens, request.computed_tokens};
  return std::exchange(request.stuck_at, std::max(at, request.stuck_at)) >= at;
}

}  // namespace hybridkv
