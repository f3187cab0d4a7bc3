#include "simulator/closed_form.h"

#include <algorithm>

#include "base/bisect.h"
#include "base/checked.h"
#include "planner/prefix.h"
#include "simulator/prefill_chunk.h"
#include "simulator/prefix_positions.h"

namespace hybridkv {

namespace {

/// The same with the rules of vLLM 0.33: states at kept boundaries and tails, and those exported inside chunks.
std::vector<std::int64_t> checkpoint_positions_033(const CacheGeometry& geometry, std::int64_t prompt) {
  const PrefixPositions positions(geometry);
  std::vector<std::int64_t> kept;
  // The token behind the prompt is known when the prompt is computed.
  const auto keep = [&](std::int64_t at) {
    if (at + geometry.rules.lookahead_tokens <= prompt + 1) kept.push_back(at);
  };
  for (ComputedChunk chunk{.prompt = prompt, .tokens = prompt}; chunk.start < prompt; chunk.start = chunk.end) {
    chunk.end = std::min(prompt, chunk.start + geometry.max_num_batched_tokens);
    chunk.end = cut_chunk(positions, chunk, geometry.max_num_batched_tokens);
    if (chunk.end == chunk.start) break;
    const std::int64_t exported = positions.exported_at(chunk);
    if (exported > 0 && positions.keeps_exported(exported, chunk)) keep(exported);
    const bool inside = exported == 0 && positions.keeps_inside(chunk.end, prompt, 0);
    if (inside || (chunk.end % positions.block() == 0 && positions.keeps_boundary(chunk.end, prompt, 0)))
      keep(chunk.end);
  }
  return kept;
}

/// What a copy hits at most with the rules of vLLM 0.33: the last state or block that leaves it a token to compute.
std::optional<std::int64_t> predicted_copy_hit_033(const CacheGeometry& geometry, std::int64_t prompt) {
  if (!geometry.caches_prefixes()) return 0;
  if (geometry.has_partial_tails() || geometry.has_unequal_blocks()) return std::nullopt;
  const PrefixPositions positions(geometry);
  if (!geometry.drafter_drops_block) return positions.last(prompt, positions.segment());
  // Alone, attention looks no further than the last token but one.
  const bool alone = geometry.attention_groups + geometry.state_groups == 1;
  return positions.last(alone ? prompt - 1 : prompt, positions.segment());
}

}  // namespace

std::vector<std::int64_t> checkpoint_positions(const CacheGeometry& geometry, std::int64_t prompt_tokens) {
  std::vector<std::int64_t> positions;
  if (geometry.state_groups == 0 || !geometry.caches_prefixes()) return positions;
  if (geometry.rules.has_match_units()) return checkpoint_positions_033(geometry, prompt_tokens);
  const std::int64_t block = geometry.state_block();
  const std::int64_t partial = partial_checkpoint(geometry, prompt_tokens);
  std::int64_t start = 0;
  while (start < prompt_tokens) {
    const std::int64_t end =
        start + next_prefill_chunk(geometry, {start, prompt_tokens, 0}, geometry.max_num_batched_tokens);
    if (geometry.mode == CacheMode::all) {
      for (std::int64_t at = (start / block + 1) * block; at <= end; at += block) positions.push_back(at);
    } else if (end % block == 0) {
      positions.push_back(end);
    }
    if (end == partial && end % block != 0) positions.push_back(end);
    start = end;
  }
  return positions;
}

std::optional<std::int64_t> predicted_copy_hit(const CacheGeometry& geometry, std::int64_t prompt_tokens,
                                               std::int64_t copy) {
  if (geometry.rules.has_match_units()) return predicted_copy_hit_033(geometry, prompt_tokens);
  if (geometry.has_partial_tails() || geometry.scheduler.checkpoint_back > 0) return std::nullopt;
  const std::int64_t block = geometry.state_groups > 0 ? geometry.checkpoint_step() : geometry.attention_grain();
  // A drafter drops what attention matched last; where that is less than the way back to a checkpoint there is no
  // closed form.
  if (geometry.state_groups > 0 && geometry.drafter_drops_block && geometry.attention_groups > 0 &&
      geometry.attention_grain() != block)
    return std::nullopt;
  const bool align = geometry.aligns_chunks();
  if (align && prompt_tokens % block == 0) {
    std::int64_t chunk = geometry.max_num_batched_tokens;
    if (geometry.scheduler.long_prefill_threshold > 0)
      chunk = std::min(chunk, geometry.scheduler.long_prefill_threshold);
    if (prompt_tokens > chunk) return std::nullopt;
    // The second copy made a checkpoint at the branch point; it lies where mode all would find one.
    if (copy > 2 && geometry.scheduler.branch_point)
      return duplicate_hit_tokens(CacheMode::all, true, block, geometry.drafter_drops_block, prompt_tokens);
  }
  return duplicate_hit_tokens(geometry.mode, geometry.state_groups > 0, block, geometry.drafter_drops_block,
                              prompt_tokens);
}

std::int64_t request_block_ids(const CacheGeometry& geometry, std::int64_t tokens, std::int64_t arena) {
  Checked ids = arena == 0 ? geometry.extra_blocks_per_request : 0;
  for (std::int64_t group = 0; group < geometry.attention_groups; ++group)
    if (geometry.attention_arena(group) == arena)
      ids += geometry.is_windowed(group) ? geometry.window_blocks(group, tokens)
                                         : ceil_div(tokens, geometry.attention_block(group));
  for (const HeldGroup& group : geometry.held_groups)
    if (group.arena == arena) ids += geometry.held_blocks(group, tokens);
  Checked states = Checked(geometry.speculative_tokens) + 1;
  if (geometry.mode == CacheMode::align) states += 1 + geometry.rules.checkpoint_blocks;
  if (geometry.mode == CacheMode::all)
    states = geometry.rules.engine->counts_running_state
                 ? Checked(tokens / geometry.state_block()) + 1
                 : Checked(geometry.speculative_tokens) + ceil_div(tokens, geometry.state_block());
  for (std::int64_t group = 0; group < geometry.state_groups; ++group)
    if (geometry.state_arena(group) == arena) ids += states;
  return ids;
}

std::int64_t longest_request(const CacheGeometry& geometry, std::int64_t arena) {
  const std::int64_t usable = geometry.arena_blocks(arena) - 1;
  const std::int64_t longest = std::int64_t{1} << 40;
  // In 0.33 a chunk takes room for a drafter's tokens too, up to the longest sequence.
  const std::int64_t drafted = geometry.rules.has_match_units() ? geometry.speculative_tokens : 0;
  const std::int64_t most = geometry.scheduler.max_model_len.value_or(INT64_MAX);
  const auto holds = [&](std::int64_t tokens) {
    return request_block_ids(geometry, std::min(tokens + drafted, std::max(tokens, most)), arena) <= usable;
  };
  return last_that(0, longest + 1, holds);
}

namespace {

/// Of large pages that all arenas share.
std::int64_t longest_in_large_pages(const CacheGeometry& geometry) {
  const std::int64_t longest = std::int64_t{1} << 40;
  const auto holds = [&](std::int64_t tokens) {
    Checked pages = 1;
    for (std::int64_t arena = 0; arena < geometry.num_arenas(); ++arena)
      pages += ceil_div(request_block_ids(geometry, tokens, arena),
                        geometry.blocks_per_large_page[static_cast<std::size_t>(arena)]);
    return pages <= geometry.num_large_pages();
  };
  return last_that(0, longest + 1, holds);
}

}  // namespace

std::int64_t longest_request(const CacheGeometry& geometry) {
  if (geometry.shares_large_pages()) return longest_in_large_pages(geometry);
  std::int64_t longest = longest_request(geometry, 0);
  for (std::int64_t arena = 1; arena < geometry.num_arenas(); ++arena)
    longest = std::min(longest, longest_request(geometry, arena));
  return longest;
}

}  // namespace hybridkv
