#include "simulator/blocks/prefix_positions.h"

#include "base/checked.h"

namespace hybridkv {

PrefixPositions::PrefixPositions(const CacheGeometry& geometry)
    : block_(geometry.state_block()),
      segment_(geometry.common_multiple()),
      unit_(geometry.match_unit()),
      fine_(geometry.has_partial_tails()),
      lookahead_(std::max<std::int64_t>(1, geometry.rules.lookahead_tokens)),
      drops_(geometry.drafter_drops_block),
      exports_(geometry.state_groups > 0 && geometry.rules.checkpoint_blocks > 0),
      exact_junctions_(geometry.rules.exact_junctions && fine_ && drops_),
      state_drafters_(geometry.rules.state_drafters && drops_),
      alignment_(geometry.checkpoint_alignment()),
      retention_(geometry.retention_interval_tokens) {}

std::int64_t PrefixPositions::last(std::int64_t tokens, std::int64_t grain) const {
  if (drops_) return std::max<std::int64_t>(0, floor_to(tokens, grain) - grain);
  return floor_to(std::max<std::int64_t>(0, tokens - lookahead_), grain);
}

std::int64_t PrefixPositions::attention_tail(std::int64_t prompt) const {
  return fine_ ? floor_to(drops_ ? prompt : prompt - 1, unit_) : 0;
}

std::int64_t PrefixPositions::junction_stop(const ComputedChunk& chunk) const {
  if (exact_junctions_) return chunk.junction;
  return chunk.start + floor_to(chunk.junction - chunk.start, block_);
}

bool PrefixPositions::is_replayed(std::int64_t at, std::int64_t prompt) const {
  if (!drops_) return at == floor_to(prompt - 1, segment_);
  return at == floor_to(prompt - 1, segment_) - segment_ || at == floor_to(prompt, segment_) - segment_;
}

bool PrefixPositions::keeps_boundary(std::int64_t at, std::int64_t prompt, std::int64_t junction) const {
  if (!retention_ || (*retention_ > 0 && at % *retention_ == 0) || is_replayed(at, prompt)) return true;
  const std::int64_t shared = floor_to(junction, block_);
  return at == shared || (state_drafters_ && at == shared - block_);
}

bool PrefixPositions::keeps_exported(std::int64_t at, const ComputedChunk& chunk) const {
  if (at == last(chunk.prompt, hit_step()) || at == chunk.junction) return true;
  return at % block_ == 0 && (!retention_ || (*retention_ > 0 && at % *retention_ == 0));
}

bool PrefixPositions::keeps_inside(std::int64_t at, std::int64_t prompt, std::int64_t junction) const {
  return fine_ && (at == state_tail(prompt) || (exact_junctions_ && at == junction));
}

bool PrefixPositions::keeps_window_block(std::int64_t i, std::int64_t block, std::int64_t v, bool drafter,
                                         std::int64_t prompt, std::int64_t junction) const {
  // A drafter's group keeps one block more, which ends one later.
  const std::int64_t shift = drafter && drops_ ? 1 : 0;
  const std::int64_t needed = v + shift;
  const std::int64_t interval = retention_.value_or(segment_);
  if (interval > 0) {
    const std::int64_t blocks = interval / block;
    if (needed >= blocks || (i >= shift && (i - shift) % blocks >= blocks - needed)) return true;
  }
  if (!retention_) return false;
  const auto ends = [&](std::int64_t boundary) {
    const std::int64_t end = floor_to(boundary, segment_) / block + shift;
    return end - needed <= i && i < end;
  };
  if (junction > 0 && ends(junction)) return true;
  if (!drops_) return ends(prompt - 1);
  return ends(std::max<std::int64_t>(0, prompt - 1 - segment_)) || ends(std::max<std::int64_t>(0, prompt - segment_));
}

bool PrefixPositions::can_export(std::int64_t start, std::int64_t end, std::int64_t at) const {
  // The state of the chunk's start stands in column ceil(start / B) - 1, the exported one before the running one.
  return exports_ && start % unit_ == 0 && ceil_div(end, block_) - 2 > ceil_div(start, block_) - 1 &&
         start + unit_ <= at && at < end && (at - start) % alignment_ == 0;
}

bool PrefixPositions::exports_to_the_end(const ComputedChunk& chunk) const {
  return chunk.end >= chunk.prefill_end() && can_export(chunk.start, chunk.end, last(chunk.prefill_end(), hit_step()));
}

std::int64_t PrefixPositions::exported_at(const ComputedChunk& chunk) const {
  if (retention_ == 0 && chunk.end < chunk.prefill_end()) return 0;
  const std::int64_t at = last(chunk.end, hit_step());
  return can_export(chunk.start, chunk.end, at) ? at : 0;
}

std::int64_t cut_chunk(const PrefixPositions& positions, const ComputedChunk& chunk, std::int64_t max_tokens) {
  if (chunk.start >= chunk.prefill_end()) return chunk.end;
  const std::int64_t block = positions.block();
  const bool exports = positions.exports_to_the_end(chunk);
  std::int64_t end = chunk.end;
  if (end < chunk.prefill_end()) {
    // Where no chunk holds a block it goes on inside, and ends at the next boundary that it reaches.
    const std::int64_t aligned = end / block * block;
    if (aligned > chunk.start || block <= max_tokens) end = std::max(chunk.start, aligned);
  }
  std::int64_t stop = end;
  const auto stop_at = [&](std::int64_t position) {
    if (chunk.start < position && position < end) stop = std::min(stop, position);
  };
  if (!exports) {
    const std::int64_t last = positions.last(chunk.tokens, block), tail = positions.state_tail(chunk.prompt);
    if (chunk.start % block != 0) stop_at((chunk.start / block + 1) * block);
    stop_at(last);
    if (last < tail && tail < chunk.prompt) stop_at(tail);
  }
  if (chunk.start < chunk.junction && chunk.junction < end) stop_at(positions.junction_stop(chunk));
  return stop;
}

}  // namespace hybridkv
