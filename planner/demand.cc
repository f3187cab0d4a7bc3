#include "planner/demand.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/number_text.h"

namespace hybridkv {

namespace {

std::int64_t recurrent_entries(const Arrangement& arrangement, const SpecPlan& spec, std::int64_t tokens) {
  if (arrangement.radix) return arrangement.radix->split.slots_per_request;
  if (spec.ring_tokens > 0) return 1;
  if (arrangement.rows) return arrangement.rows->rows_per_sequence;
  if (arrangement.pool_groups && arrangement.cache_mode == CacheMode::all)
    return Checked(tokens / spec.block_size_tokens) + 1;
  switch (arrangement.cache_mode) {
    case CacheMode::none: return Checked(1) + arrangement.speculative_tokens;
    case CacheMode::align: return Checked(2) + arrangement.speculative_tokens + spec.checkpoint_blocks;
    case CacheMode::all: return Checked(ceil_div(tokens, spec.block_size_tokens)) + arrangement.speculative_tokens;
  }
  throw std::logic_error("unknown cache mode");
}

KeyMask mask_of(const SpecPlan& spec) { return key_mask(spec.attention->kind, spec.attention->window_tokens); }

/// Tokens that so many whole blocks hold, cut to the longest request that is planned for.
std::int64_t tokens_of(std::int64_t blocks, const SpecPlan& spec) {
  if (blocks <= 0) return 0;
  return blocks > largest_tokens / spec.block_size_tokens ? largest_tokens : blocks * spec.block_size_tokens;
}

}  // namespace

std::int64_t Demand::total() const {
  Checked sum = 0;
  for (const std::int64_t of_arena : ids) sum += of_arena;
  return sum;
}

bool Demand::is_within(const Demand& most) const {
  for (std::size_t arena = 0; arena < ids.size(); ++arena)
    if (ids[arena] > most.ids[arena]) return false;
  return true;
}

Demand no_demand(const Arrangement& arrangement) {
  return {std::vector<std::int64_t>(arrangement.arenas.size(), 0)};
}

Demand all_ids(const Arrangement& arrangement) {
  Demand demand;
  demand.ids.reserve(arrangement.arenas.size());
  for (const ArenaPlan& arena : arrangement.arenas) demand.ids.push_back(arena.num_ids);
  return demand;
}

Demand usable_ids(const Arrangement& arrangement) {
  Demand demand;
  demand.ids.reserve(arrangement.arenas.size());
  for (const ArenaPlan& arena : arrangement.arenas) demand.ids.push_back(arena.usable_ids());
  return demand;
}

std::int64_t window_entries(const KeyMask& mask, std::int64_t block_size_tokens, std::int64_t in_flight,
                            std::int64_t tokens) {
  const std::int64_t slides = mask.kind == MaskKind::sliding_window ? 1 : 0;
  const std::int64_t live = std::min<std::int64_t>(Checked(mask.window_tokens) - slides + in_flight, tokens);
  return ceil_div(live, block_size_tokens) + slides;
}

std::int64_t window_tokens_in_flight(const Arrangement& arrangement) {
  return Checked(arrangement.max_num_batched_tokens) * arrangement.concurrent_batches +
         std::max<std::int64_t>(0, arrangement.lookahead_tokens - 1);
}

std::int64_t group_entries(const Arrangement& arrangement, const SpecPlan& spec, std::int64_t tokens) {
  if (spec.state) return recurrent_entries(arrangement, spec, tokens);
  switch (spec.attention->kind) {
    case AttentionKind::full:
    case AttentionKind::hidden_state:
    case AttentionKind::indexer:
    case AttentionKind::mla:
      return ceil_div(ceil_div(tokens, arrangement.decode_context_parallel), spec.block_size_tokens);
    case AttentionKind::sliding_window:
    case AttentionKind::chunked_local:
      return window_entries(mask_of(spec), spec.block_size_tokens, window_tokens_in_flight(arrangement), tokens);
  }
  throw std::logic_error("unknown attention kind");
}

std::int64_t longest_in_entries(const Arrangement& arrangement, const SpecPlan& spec, std::int64_t entries) {
  if (spec.state) {
    if (arrangement.cache_mode == CacheMode::all && spec.ring_tokens == 0) {
      // Pool groups hold one state more than there are whole blocks, so the last block must not be filled.
      if (arrangement.pool_groups) return std::max<std::int64_t>(1, tokens_of(entries, spec)) - 1;
      return tokens_of(entries - arrangement.speculative_tokens, spec);
    }
    return entries < recurrent_entries(arrangement, spec, 1) ? 0 : largest_tokens;
  }
  if (spec.attention->window_tokens > 0) {
    // A window takes no more entries than the longest request does, so with these a request may have any length.
    if (entries >= group_entries(arrangement, spec, largest_tokens)) return largest_tokens;
    return tokens_of(spec.attention->kind == AttentionKind::sliding_window ? entries - 1 : entries, spec);
  }
  const std::int64_t ranks = arrangement.decode_context_parallel;
  const std::int64_t tokens = tokens_of(entries, spec);
  return tokens > largest_tokens / ranks ? largest_tokens : tokens * ranks;
}

std::int64_t ids_of_entries(const GroupPlan& group, std::int64_t entries) {
  if (group.entries_per_id > 1) return ceil_div(entries, group.entries_per_id);
  return Checked(entries) * group.ids_per_entry;
}

std::int64_t entries_in_ids(const GroupPlan& group, std::int64_t ids) {
  return Checked(ids) * group.entries_per_id / group.ids_per_entry;
}

std::int64_t group_ids(const Arrangement& arrangement, const GroupPlan& group, std::int64_t tokens) {
  return ids_of_entries(group, group_entries(arrangement, arrangement.spec_of(group), tokens));
}

IdsByCause ids_by_cause(const Arrangement& arrangement, std::int64_t tokens) {
  IdsByCause causes;
  for (const GroupPlan& group : arrangement.groups) {
    if (group.shares_table) continue;
    const SpecPlan& spec = arrangement.spec_of(group);
    const Checked ids = group_ids(arrangement, group, tokens);
    if (!spec.state) {
      Checked kept = ids;
      if (spec.attention->window_tokens > 0)
        kept = ids_of_entries(group, window_entries(mask_of(spec), spec.block_size_tokens, 0, tokens));
      causes.tokens = Checked(causes.tokens) + kept;
      causes.in_flight_window = Checked(causes.in_flight_window) + (ids - kept);
      continue;
    }
    if (spec.ring_tokens > 0) {
      causes.other = Checked(causes.other) + ids;
      continue;
    }
    // Radix pools keep the states of draft steps outside their slots.
    const std::int64_t drafts = arrangement.radix ? 0 : arrangement.speculative_tokens;
    const std::int64_t exported = arrangement.cache_mode == CacheMode::align ? spec.checkpoint_blocks : 0;
    // Where several entries share an id, each cause counts the ids that it adds to those of the causes before it.
    const Checked entries = group_entries(arrangement, spec, tokens);
    const Checked states = ids_of_entries(group, entries - drafts - exported);
    const Checked with_drafts = ids_of_entries(group, entries - exported);
    causes.states = Checked(causes.states) + states;
    causes.speculative = Checked(causes.speculative) + (with_drafts - states);
    causes.checkpoints = Checked(causes.checkpoints) + (ids - with_drafts);
  }
  causes.other = Checked(causes.other) + arrangement.extra_ids_per_request();
  return causes;
}

Demand request_demand(const Arrangement& arrangement, std::int64_t tokens) {
  return load_demand(arrangement, {&tokens, 1});
}

Demand load_demand(const Arrangement& arrangement, std::span<const std::int64_t> tokens) {
  Demand demand = no_demand(arrangement);
  for (const std::int64_t of_request : tokens) add_request(arrangement, of_request, demand);
  return demand;
}

void add_request(const Arrangement& arrangement, std::int64_t tokens, Demand& demand) {
  std::int64_t spec = -1, ids = 0;  // the groups of a spec stand together and need the same
  for (const GroupPlan& group : arrangement.groups) {
    if (group.shares_table) continue;
    if (group.spec != spec) {
      spec = group.spec;
      ids = group_ids(arrangement, group, tokens);
    }
    std::int64_t& all = demand.ids[group.arena.index()];
    all = Checked(all) + ids;
  }
  demand.ids[0] = Checked(demand.ids[0]) + arrangement.extra_ids_per_request();
}

bool fits(const Arrangement& arrangement, const Demand& demand) {
  return demand.is_within(usable_ids(arrangement));
}

bool fits_as_engines_check(const Arrangement& arrangement, const Demand& demand) {
  const bool reserves = arrangement.rules->reserves_null_block;
  return demand.is_within(reserves ? usable_ids(arrangement) : all_ids(arrangement));
}

std::int64_t bytes_of(const Arrangement& arrangement, const Demand& demand) {
  Checked bytes = 0;
  for (std::size_t arena = 0; arena < demand.ids.size(); ++arena)
    bytes += Checked(demand.ids[arena]) * arrangement.arenas[arena].bytes_per_id;
  return bytes;
}

std::string ids_text(const Arrangement& arrangement, const Demand& demand) {
  if (arrangement.is_uniform()) return human_plural(demand.ids.front(), "block");
  std::string text;
  for (std::size_t arena = 0; arena < demand.ids.size(); ++arena)
    text += fmt::format("{}{} of {}", arena == 0 ? "" : arena + 1 < demand.ids.size() ? ", " : " and ",
                        arena == 0 ? human_plural(demand.ids[arena], "id") : human_count(demand.ids[arena]),
                        arrangement.arenas[arena].name);
  return text;
}

}  // namespace hybridkv
