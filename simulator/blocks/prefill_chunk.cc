#include "simulator/blocks/prefill_chunk.h"

#include <algorithm>

namespace hybridkv {

std::int64_t last_boundary(const CacheGeometry& geometry, std::int64_t prompt) {
  const std::int64_t step = geometry.checkpoint_step();
  const std::int64_t last = prompt / step * step;
  const std::int64_t back = geometry.scheduler.checkpoint_back + (geometry.drafter_drops_block ? 1 : 0);
  return back == 0 ? last : std::max<std::int64_t>(0, last - back * step);
}

std::int64_t partial_tail_end(const CacheGeometry& geometry, std::int64_t prompt) {
  if (!geometry.has_partial_tails()) return 0;
  const std::int64_t unit = geometry.match_unit();
  return prompt / unit * unit;
}

std::int64_t partial_checkpoint(const CacheGeometry& geometry, std::int64_t prompt) {
  if (!geometry.has_partial_tails() || !geometry.has_state_blocks()) return 0;
  const std::int64_t end = partial_tail_end(geometry, prompt);
  return geometry.drafter_drops_block ? std::max<std::int64_t>(0, end - geometry.match_unit()) : end;
}

std::int64_t branch_checkpoint(const CacheGeometry& geometry, std::int64_t hit, std::int64_t uncached_common) {
  if (!geometry.scheduler.branch_point || !geometry.aligns_chunks()) return 0;
  const std::int64_t step = geometry.checkpoint_step();
  return uncached_common < step ? 0 : (hit + uncached_common) / step * step;
}

std::int64_t next_prefill_chunk(const CacheGeometry& geometry, const PrefillPosition& at, std::int64_t budget) {
  std::int64_t tokens = std::min(at.prompt - at.start, budget);
  if (geometry.scheduler.long_prefill_threshold > 0)
    tokens = std::min(tokens, geometry.scheduler.long_prefill_threshold);
  tokens = geometry.allowed_chunk(tokens, at.prompt - at.start);
  std::int64_t end = at.start + tokens;
  const auto stop_at = [&](std::int64_t position) {
    if (at.start < position && position < end) end = position;
  };
  if (geometry.aligns_chunks()) {
    const std::int64_t last = last_boundary(geometry, at.prompt);
    if (end < last) {
      const std::int64_t step = geometry.checkpoint_step();
      end = std::max(at.start, end / step * step);
    } else {
      stop_at(last);
    }
  }
  stop_at(partial_checkpoint(geometry, at.prompt));
  stop_at(branch_checkpoint(geometry, at.start, at.uncached_common));
  return end - at.start;
}

}  // namespace hybridkv
