#include "planner/table_rule.h"

#include <algorithm>
#include <stdexcept>

#include "base/checked.h"
#include "planner/engine_rules.h"

namespace hybridkv {

namespace {

/// A window begins anywhere in a block, a chunk with one.
std::int64_t begun_blocks(const TableRule& rule) { return rule.mask.kind == MaskKind::sliding_window ? 1 : 0; }

std::int64_t fixed_entries(const TableRule& rule) {
  return Checked(rule.states) + rule.drafts.value_or(0) + rule.exported + rule.rings + begun_blocks(rule);
}

/// Entries that come with the tokens.
std::int64_t grown_entries(const TableRule& rule, std::int64_t tokens) {
  if (rule.block_tokens == 0) return 0;
  if (rule.encoder_tokens > 0) return ceil_div(rule.encoder_tokens, rule.block_tokens);
  // A window counts the token that looks.
  const std::int64_t kept =
      rule.is_windowed() ? std::min<std::int64_t>(
                               Checked(rule.mask.window_tokens) - begun_blocks(rule) + rule.in_flight.total(), tokens)
                         : tokens;
  if (rule.only_whole_blocks) return kept / rule.block_tokens;
  return ceil_div(ceil_div(kept, rule.ranks), rule.block_tokens);
}

/// Tokens of whole blocks on every rank, where that is no longer than any request.
std::int64_t tokens_in_blocks(std::int64_t blocks, const TableRule& rule) {
  if (blocks <= 0) return 0;
  if (blocks > largest_tokens / rule.block_tokens) return largest_tokens;
  const std::int64_t tokens = blocks * rule.block_tokens;
  return tokens > largest_tokens / rule.ranks ? largest_tokens : tokens * rule.ranks;
}

TableRule table_of_recurrence(const Arrangement& arrangement, const SpecPlan& spec) {
  if (spec.ring_tokens > 0) return table_of_ring();
  if (arrangement.tree_pools)
    return {.states = arrangement.tree_pools->split.state_slots_per_request,
            .states_symbol = "S",
            .why = "the running state, tracking slots and what the locks of the tree keep"};
  if (arrangement.rows)
    return {.states = 1, .drafts = arrangement.rows->rows_per_sequence - 1, .drafts_symbol = "rows for drafts",
            .why = "the rows of a sequence, whatever its length"};
  if (arrangement.pool_groups)
    return {.states = 1, .why = "the running state: a snapshot takes a slot that is free or idle, or is left out"};
  if (arrangement.rules->checkpoint_tokens && arrangement.keeps_every_boundary())
    return table_of_checkpoints(spec.block_size_tokens, arrangement.draft_states());
  return table_of_states(arrangement.cache_mode, spec.block_size_tokens, arrangement.draft_states(),
                         spec.checkpoint_blocks);
}

}  // namespace

std::int64_t TokensInFlight::total() const {
  return Checked(batch) * batches + std::max<std::int64_t>(0, looked_ahead - 1);
}

TableRule table_of_tokens(const KeyMask& mask, std::int64_t block_tokens, std::int64_t ranks,
                          TokensInFlight in_flight) {
  if (mask.kind == MaskKind::full) return {.block_tokens = block_tokens, .ranks = ranks};
  return {.block_tokens = block_tokens, .mask = mask, .in_flight = in_flight};
}

TableRule table_of_states(CacheMode mode, std::int64_t block_tokens, std::int64_t drafts, std::int64_t exported) {
  switch (mode) {
    case CacheMode::none: return {.states = 1, .drafts = drafts, .why = "one running state, mode none"};
    case CacheMode::align:
      return {.states = 2, .drafts = drafts, .exported = exported,
              .why = exported == 0 ? "the running state and the checkpoint before it, mode align"
                                   : "the running state, the checkpoint before it and one that a chunk exports, mode "
                                     "align"};
    case CacheMode::all:
      return {.drafts = drafts, .block_tokens = block_tokens, .grows_in_states = true,
              .why = "a checkpoint at every boundary, mode all"};
  }
  throw std::logic_error("unknown cache mode");
}

TableRule table_of_checkpoints(std::int64_t block_tokens, std::int64_t drafts) {
  return {.states = 1, .drafts = drafts, .block_tokens = block_tokens, .grows_in_states = true,
          .only_whole_blocks = true, .why = "the running state, and a checkpoint at every multiple of the block"};
}

TableRule table_of_encoder(std::int64_t encoder_tokens, std::int64_t block_tokens) {
  return {.block_tokens = block_tokens, .encoder_tokens = encoder_tokens,
          .why = "K and V of the encoder's tokens, whatever the length"};
}

TableRule table_of_ring() { return {.rings = 1, .why = "a ring, whatever the length"}; }

TableRule table_rule(const Arrangement& arrangement, const SpecPlan& spec) {
  if (spec.state) return table_of_recurrence(arrangement, spec);
  if (spec.is_cross()) return table_of_encoder(spec.encoder_tokens, spec.block_size_tokens);
  TokensInFlight in_flight{.batch = arrangement.max_num_batched_tokens,
                           .batches = arrangement.concurrent_batches,
                           .looked_ahead = arrangement.lookahead_tokens};
  if (arrangement.rows) in_flight = {.batch = arrangement.rows->step_tokens, .batch_symbol = "tokens of a pass"};
  return table_of_tokens(key_mask(spec.attention->kind, spec.attention->window_tokens), spec.block_size_tokens,
                         arrangement.decode_context_parallel, in_flight);
}

std::int64_t table_entries(const TableRule& rule, std::int64_t tokens) {
  return Checked(fixed_entries(rule)) + grown_entries(rule, tokens);
}

std::int64_t longest_in_entries(const TableRule& rule, std::int64_t entries) {
  // What a long request takes any request can take, be it of fixed entries or of a window that is full.
  const bool is_fixed = rule.block_tokens == 0 || rule.encoder_tokens > 0;
  if (is_fixed || rule.is_windowed()) {
    if (entries >= table_entries(rule, largest_tokens)) return largest_tokens;
    if (is_fixed) return 0;
  }
  const std::int64_t blocks = entries - fixed_entries(rule);
  if (!rule.only_whole_blocks) return tokens_in_blocks(blocks, rule);
  // One block more would begin an entry with its last token.
  return blocks < 0 ? 0 : std::min(largest_tokens, tokens_in_blocks(blocks + 1, rule) - 1);
}

}  // namespace hybridkv
